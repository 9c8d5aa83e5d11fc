// Runs scripts of tool calls on the reference and compares, records or prints what happened:
//   node run.mjs [--record | --print] [FILE ..] [--only NAME]
// FILE is a file of scripts/ (all of them if none is given). Without a flag the traces are compared with those in traces/.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { run } from './host.mjs'
import { fail, versions } from './reference.mjs'
import { read } from './scripts.mjs'
import { sorted } from './trace.mjs'

const folder = (name) => new URL(`${name}/`, import.meta.url)
const args = process.argv.slice(2)
const record = args.includes('--record')
const print = args.includes('--print')
const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined
const files = args.filter((one) => !one.startsWith('--') && one !== only).map((one) => basename(one))
if (record && only) fail('--record needs whole files: leave --only out')

process.on('unhandledRejection', (error) => {
  console.error('unhandled rejection:', error)
  process.exitCode = 1
})

async function traces(file) {
  const found = {}
  for (const script of read(file)) {
    if (only && script.name !== only) continue
    // A stored trace is text, so what is compared has been through it as well.
    found[script.name] = JSON.parse(JSON.stringify(sorted(await run(script))))
  }
  return found
}

let different = 0
let total = 0
for (const file of files.length ? files : readdirSync(folder('scripts')).sort()) {
  const found = await traces(file)
  total += Object.keys(found).length
  const golden = new URL(file, folder('traces'))
  if (print) {
    console.log(JSON.stringify(found, null, 2))
  } else if (record) {
    writeFileSync(golden, `${JSON.stringify(sorted({ scripts: found, versions: versions() }), null, 1)}\n`)
  } else {
    const stored = JSON.parse(readFileSync(golden, 'utf8'))
    const names = new Set([...Object.keys(found), ...(only ? [] : Object.keys(stored.scripts))])
    for (const name of names) {
      if (isDeepStrictEqual(found[name], stored.scripts[name])) continue
      different++
      console.log(`${file}: ${name}: the trace has changed`)
    }
  }
}
if (!print) console.error(`${total} scripts ${record ? 'recorded' : `compared, ${different} different`}`)
process.exit(different || process.exitCode ? 1 : 0)
