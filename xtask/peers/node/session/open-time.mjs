// What the reference takes to open a session:
//   node --expose-gc open-time.mjs ROOT ID --runs K [--compression none|zstd]
// Every run is a host of its own in a process of its own, so nothing is warm but the files. Prints one JSON object: medians over
// the runs of `inspect_ms` (read, decoded, validated), of `load_ms` (that, and repaired: ROOT is then changed), and of
// `heap_bytes`, what the inspected session keeps alive.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { fail, open } from './reference.mjs'

const [root, id, ...rest] = process.argv.slice(2)
const option = (name, fallback) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : fallback)
const runs = Number(option('--runs', '5'))
const compression = option('--compression', 'zstd')
const way = option('--one')
if (!root || id === undefined || !(runs >= 1)) fail('usage: node --expose-gc open-time.mjs ROOT ID --runs K [--compression none|zstd]')

function heap() {
  for (let i = 0; i < 3; i++) globalThis.gc()
  return process.memoryUsage().heapUsed
}

async function one() {
  const host = await open(root, { compression })
  const before = heap()
  const start = performance.now()
  const { events } = await host.persistence[way](id)
  const ms = performance.now() - start
  const bytes = heap() - before
  const length = events.length
  await host.close()
  return { ms, bytes, length }
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]

function sample(kind) {
  const args = ['--expose-gc', fileURLToPath(import.meta.url), root, id, '--compression', compression, '--one', kind]
  return Array.from({ length: runs }, () => JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })))
}

if (way) {
  console.log(JSON.stringify(await one()))
} else {
  const inspected = sample('inspect')
  const loaded = sample('load')
  console.log(JSON.stringify({
    events: inspected[0].length,
    runs,
    inspect_ms: median(inspected.map(({ ms }) => ms)),
    load_ms: median(loaded.map(({ ms }) => ms)),
    heap_bytes: median(inspected.map(({ bytes }) => bytes)),
  }))
}
