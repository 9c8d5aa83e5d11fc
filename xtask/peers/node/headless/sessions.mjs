// Makes the sessions that the tests resume, of what run.mjs left for `three_bash`, `killed` and `ours`, as far as they are there:
//   node sessions.mjs RUNS
// Each frame stays a frame. The folder is renamed to one that is everywhere, and the reference's own prose is cut: instructions,
// descriptions, the runtime context.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

const [runs] = process.argv.slice(2)
if (!runs) {
  console.error('usage: node sessions.mjs RUNS')
  process.exit(2)
}
const out = join(dirname(fileURLToPath(import.meta.url)), '../../../../crates/dsh/tests/headless/sessions')
const CHARS = 40
// Who resumes a session must find its folder.
const FOLDER = '/usr'
const MAGIC = Buffer.from('28b52ffd', 'hex')

const isProse = (text, key) => ['system', 'description', 'sections'].includes(key) || text.startsWith('Current runtime context')

function cut(value, key) {
  if (typeof value === 'string') return isProse(value, key) ? value.slice(0, CHARS) : value
  if (Array.isArray(value)) return value.map((one) => cut(one, key))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one, key === 'sections' ? key : name)]))
}

// The frames of a file, each with its text. A frame that does not unpack goes on behind the next magic number.
function frames(bytes) {
  const found = []
  for (let start = 0; start < bytes.length;) {
    let end = start
    let text
    do {
      end = bytes.indexOf(MAGIC, end + 1)
      if (end < 0) end = bytes.length
      try {
        text = zstdDecompressSync(bytes.subarray(start, end)).toString()
      } catch (error) {
        if (end === bytes.length) throw error
      }
    } while (text === undefined)
    found.push(text)
    start = end
  }
  return found
}

// As it is part of the path of a log.
const encoded = (folder) => `-${folder.replaceAll('/', '-')}--`

for (const name of ['three_bash', 'killed', 'ours']) {
  const root = join(runs, name, 'sessions')
  if (!existsSync(root)) continue
  const { workspace } = JSON.parse(readFileSync(join(runs, name, 'run.json'), 'utf8'))
  const log = readdirSync(root, { recursive: true }).find((path) => path.endsWith('session.jsonl.zstd'))
  if (!log.startsWith(encoded(workspace))) throw new Error(`${log} is not of ${workspace}`)
  const told = frames(readFileSync(join(root, log))).map((text) => {
    const moved = text.replaceAll(workspace, FOLDER)
    const lines = name === 'ours' ? moved : moved.split('\n').map((line) => (line ? JSON.stringify(cut(JSON.parse(line))) : line)).join('\n')
    return zstdCompressSync(lines, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  })
  const place = join(out, name, log.replace(encoded(workspace), encoded(FOLDER)))
  rmSync(join(out, name), { recursive: true, force: true })
  mkdirSync(dirname(place), { recursive: true })
  writeFileSync(place, Buffer.concat(told))
  console.log(`${name}: ${told.length} frames`)
}
