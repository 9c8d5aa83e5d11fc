// Writes the logs that the tests of dsh-session-jsonl read: node fixtures.mjs OUTDIR
// One folder each: `root/` as the reference left it, or cut by us, and `expected.json`, what
// read.mjs says of each session by its id.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { fail } from './reference.mjs'

const [out] = process.argv.slice(2)
if (!out) fail('usage: node fixtures.mjs OUTDIR')
const here = dirname(fileURLToPath(import.meta.url))
const run = (script, ...args) => execFileSync(process.execPath, [join(here, script), ...args], { encoding: 'utf8' })

const scratch = mkdtempSync(join(tmpdir(), 'fixtures-'))
const written = (compression, pack) => {
  const root = join(scratch, `${compression}-${pack}`)
  run('write.mjs', root, '--compression', compression, '--pack', String(pack))
  return root
}

// The folders of the sessions in `root`, by their encoded id.
function foldersOf(root) {
  const found = {}
  for (const project of readdirSync(root)) {
    for (const id of readdirSync(join(root, project))) found[id] = join(project, id)
  }
  return found
}

function fixture(name, from, sessions, cut = () => {}) {
  const folder = join(out, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const root = join(folder, 'root')
  const folders = foldersOf(from)
  const expected = {}
  for (const [encoded] of sessions) {
    cpSync(join(from, folders[encoded]), join(root, folders[encoded]), { recursive: true })
    const [file] = readdirSync(join(root, folders[encoded]))
    cut(join(root, folders[encoded], file))
  }
  for (const [, id] of sessions) {
    const compression = basename(from).startsWith('none') ? 'none' : 'zstd'
    expected[id] = JSON.parse(run('read.mjs', root, id, '--compression', compression, '--terse'))
  }
  writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(expected)}\n`)
}

const lastFrame = (file) => readFileSync(file).lastIndexOf(Buffer.from('28b52ffd', 'hex'))
const shorten = (file, length) => truncateSync(file, length)

const [plain, plainPacked, packed] = [written('none', false), written('none', true), written('zstd', true)]
const core = [['core', 'core']]
const open = [['open-turn', 'open-turn']]

fixture('plain-unpacked', plain, core)
fixture('plain-packed', plainPacked, core)
fixture('zstd-packed', packed, core)
fixture('zstd-odd-names', packed, [['seeded~002F~00EF~0020~D83D~DE00', 'seeded/ï 😀']])
fixture('plain-fork', plainPacked, [['parent', 'parent'], ['child', 'child']])
fixture('plain-open-turn', plainPacked, open)
// In the middle of the last line: the result of the third call.
fixture('plain-torn-tail', plainPacked, open, (file) => shorten(file, readFileSync(file).length - 40))
// In the only block of the last frame: nothing of it can be read.
fixture('zstd-torn-block', packed, open, (file) => shorten(file, (lastFrame(file) + readFileSync(file).length) >> 1))
// In the checksum of the last frame: all of its records can.
fixture('zstd-torn-checksum', packed, open, (file) => shorten(file, readFileSync(file).length - 2))
rmSync(scratch, { recursive: true })
