// Lets the reference run headless on scripted models and keeps what it did:
//   node run.mjs OUT [--testkit PROGRAM] [--ours PROGRAM] [NAME ..]
// NAME is a script, `killed`, `ours` (the one run of our own program), or `resumed_` and a folder of the tests' sessions; without
// one all but `ours`. README.md says what OUT holds.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

function fail(message) {
  console.error(message)
  process.exit(2)
}

const modules = process.env.DSH_REFERENCE_MODULES
if (!modules) fail('DSH_REFERENCE_MODULES names no node_modules folder; see README.md')
const here = dirname(fileURLToPath(import.meta.url))
const crates = join(here, '../../../../crates')
const tests = join(crates, 'dsh/tests/headless')

const args = process.argv.slice(2)
const option = (name, fallback) => (args.includes(name) ? args.splice(args.indexOf(name), 2)[1] : fallback)
const testkit = option('--testkit', join(here, '../../../../target/debug/dsh-testkit'))
// Our own program.
const ours = option('--ours', join(here, '../../../../target/debug/dsh'))
// The folder that the task is about, always the same one, so that two runs differ in nothing but time. It is made and removed.
const workspace = join(tmpdir(), 'headless', 'workspace')
const [out, ...asked] = args
if (!out) fail('usage: node run.mjs OUT [--testkit PROGRAM] [--ours PROGRAM] [NAME ..]')
if (!existsSync(testkit)) fail(`there is no ${testkit}: run \`cargo build -p dsh-testkit\`, or say where it is with --testkit`)
if (existsSync(workspace)) fail(`${workspace} is there already: another run is going on, or it can be removed`)

// Two scripts of the model server's, and those of the tests.
const scripts = new Map(['three_bash', 'parallel_and_bad_args'].map((name) => [name, join(crates, `dsh-testkit/scripts/${name}.json`)]))
for (const file of readdirSync(join(tests, 'scripts')).filter((file) => file.endsWith('.json'))) {
  scripts.set(basename(file, '.json'), join(tests, 'scripts', file))
}

// A model server, until `close`.
async function serve(script, log) {
  const server = spawn(testkit, ['serve', script, '--log', log], { stdio: ['ignore', 'pipe', 'ignore'] })
  let told = ''
  for (;;) {
    const [piece] = await Promise.race([once(server.stdout, 'data'), once(server, 'close')])
    if (!(piece instanceof Buffer)) fail(`the model server ended: ${told}`)
    told += piece
    const url = /DEEPSEEK_BASE_URL=(\S+)/.exec(told)
    if (!url) continue
    // It writes more, into a pipe that somebody has to hold.
    server.stdout.resume()
    return { url: url[1], close: () => server.kill() }
  }
}

function start(command, home, url) {
  const env = {
    PATH: `${join(modules, '.bin')}:${process.env.PATH}`, LC_ALL: 'C', HOME: home, DSH_PERMISSION_MODE: 'danger-full-access',
    DEEPSEEK_BASE_URL: url, DEEPSEEK_API_KEY: 'mock-key',
  }
  const child = spawn('nice', ['-n', '10', ...command], { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ran = { stdout: '', stderr: '', child }
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (piece) => { ran[stream] += piece })
  }
  ran.ended = once(child, 'close').then(([code]) => code)
  return ran
}

// The only log below a home.
function log(home) {
  const root = join(home, '.dsh/sessions')
  const logs = readdirSync(root, { recursive: true }).filter((name) => basename(name) === 'session.jsonl.zstd')
  if (logs.length !== 1) fail(`${root} has ${logs.length} logs`)
  return join(root, logs[0])
}

// One run, of the reference if nothing else is said. `signal` ends it while a command runs; `seed` makes the home; `patch` changes the profile.
async function run(name, script, { command = [join(modules, '.bin/dsh'), '--profile', 'headless'], patch, seed, signal } = {}) {
  const folder = join(out, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const home = mkdtempSync(join(tmpdir(), 'headless-home-'))
  const server = await serve(script, join(folder, 'requests.jsonl'))
  try {
    cpSync(join(tests, 'workspace'), workspace, { recursive: true })
    seed?.(home)
    if (patch) writeFileSync(join(home, 'patch.yml'), JSON.stringify(patch))
    const patched = patch ? ['--patch', join(home, 'patch.yml')] : []
    const ran = start([...command, ...patched, 'go'], home, server.url)
    if (signal) {
      await commandRuns()
      ran.child.kill(signal)
    }
    const exit = await ran.ended
    const told = { exit, stdout: ran.stdout, stderr: ran.stderr, server: server.url, workspace }
    writeFileSync(join(folder, 'run.json'), `${JSON.stringify(told)}\n`)
    cpSync(log(home), join(folder, 'session.jsonl.zstd'))
    cpSync(join(home, '.dsh/sessions'), join(folder, 'sessions'), { recursive: true })
    console.log(`${name}: exit ${exit}`)
  } finally {
    server.close()
    rmSync(home, { recursive: true })
    rmSync(workspace, { recursive: true, force: true })
  }
}

// Waits for a command of the script to say, by a file in the workspace, that it runs; then for the log to be written.
async function commandRuns() {
  while (!existsSync(join(workspace, 'begun'))) await sleep(50)
  await sleep(2000)
}

// Resumes the session in `sessions/NAME` of the tests.
async function resume(name) {
  const root = join(tests, 'sessions', name)
  const id = basename(readdirSync(root, { recursive: true }).find((path) => basename(path).startsWith('session-')))
  const driver = { id: 'headless-resume', name: `file://${join(here, 'resume.mjs')}`, config: { id, text: 'next' } }
  await run(`resumed_${name}`, join(tests, 'scripts/beside/answer.json'), {
    seed: (home) => cpSync(root, join(home, '.dsh/sessions'), { recursive: true }),
    patch: [{ id: 'headless-runner', disabled: true }, { insert: [driver] }],
  })
}

const SIGNALS = { killed: 'SIGKILL', interrupted: 'SIGINT', terminated: 'SIGTERM' }
const all = [...scripts.keys(), ...Object.keys(SIGNALS), ...readdirSync(join(tests, 'sessions')).map((name) => `resumed_${name}`)]
for (const name of asked.length ? asked : all) {
  if (name === 'ours') await run(name, scripts.get('three_bash'), { command: [ours, 'run'] })
  else if (name in SIGNALS) await run(name, join(tests, 'scripts/beside/hangs.json'), { signal: SIGNALS[name] })
  else if (name.startsWith('resumed_')) await resume(name.slice('resumed_'.length))
  else if (scripts.has(name)) await run(name, scripts.get(name))
  else fail(`there is no script ${name}`)
}
