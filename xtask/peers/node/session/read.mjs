// How the reference reads a session: node read.mjs ROOT ID [--compression none|zstd] [--terse]
// Prints one JSON object. ROOT stays as it is: what repairs a log runs on a copy. Each answer is
// { ok }, { error: { class, code, message, cause } } or, instead of saying it twice,
// { sameAs } or { prefixOf, length }.
//
// The texts of results that the reference makes up for interrupted calls are printed as null, and so
// is the time of what it adds to a session in memory: neither belongs to the format.

import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { fail, open } from './reference.mjs'

const [root, id, ...rest] = process.argv.slice(2)
if (!root || id === undefined) fail('usage: node read.mjs ROOT ID [--compression none|zstd] [--terse]')
const compression = rest.includes('--compression') ? rest[rest.indexOf('--compression') + 1] : 'zstd'

const INVENTED = /^interrupted-tool-result-/

function withoutTexts(message) {
  if (!INVENTED.test(message?.id ?? '')) return message
  const silent = (block) => (block.type === 'text' ? { ...block, text: null } : block)
  return { ...message, content: message.content.map((block) => ({ ...block, content: block.content.map(silent) })) }
}

function shown(event) {
  const message = event.data?.message
  return message && withoutTexts(message) !== message ? { ...event, data: { ...event.data, message: withoutTexts(message) } } : event
}

const described = (error) => ({ class: error?.constructor?.name, code: error?.code, message: error?.message })

async function outcome(run) {
  try {
    return { ok: await run() }
  } catch (error) {
    return { error: { ...described(error), cause: error?.cause && described(error.cause) } }
  }
}

const log = ({ meta, events }) => ({ header: meta, events: events.map(shown) })

const copies = mkdtempSync(join(tmpdir(), 'read-'))
let copied = 0

// A host per question: no answer comes out of what an earlier one has cached.
async function on(folder, run) {
  return outcome(async () => {
    const host = await open(folder, { compression })
    try {
      return await run(host)
    } finally {
      await host.close()
    }
  })
}

function onCopy(run) {
  const copy = join(copies, String(copied++))
  cpSync(root, copy, { recursive: true, preserveTimestamps: true })
  return on(copy, run)
}

const report = {
  list: await on(root, async ({ persistence }) => persistence.list()),
  inspect: await on(root, async ({ persistence }) => log(await persistence.inspect(id))),
  readFrom: await on(root, async ({ persistence }) => log(await persistence.readFrom(id, 0))),
  load: await onCopy(async ({ persistence }) => log(await persistence.load(id))),
  // The lines that are there after a load, each parsed; null if the load has changed nothing.
  repaired: await onCopy(async ({ persistence }) => {
    const before = await persistence.readRaw(id)
    await persistence.load(id)
    const { content } = await persistence.readRaw(id)
    if (content === before.content) return null
    return content.split('\n').slice(0, -1).map((line) => shown(JSON.parse(line)))
  }),
  // What a resumed session starts with.
  prepared: await onCopy(async ({ persistence }) => {
    const { session } = await persistence.prepare(id)
    const added = session.events.at(-1)
    return {
      length: session.events.length,
      last: added.type === 'session/end-seed' ? { ...added, time: null } : shown(added),
      messages: session.deriveMessages().map(withoutTexts),
      requestHeader: session.requestHeader() ?? null,
      requestContext: session.requestContext() ?? null,
    }
  }),
}
rmSync(copies, { recursive: true })

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)
if (same(report.load, report.inspect)) report.load = { sameAs: 'inspect' }
// A suffix read adds nothing to what is stored, so it has the events of `inspect` up to the closers.
const stored = report.readFrom.ok
const whole = report.inspect.ok
if (stored && whole && same(stored.header, whole.header) && same(stored.events, whole.events.slice(0, stored.events.length))) {
  report.readFrom = { prefixOf: 'inspect', length: stored.events.length }
}
// Messages are wording, which nobody compares.
if (rest.includes('--terse')) {
  for (const answer of Object.values(report)) {
    if (!answer.error) continue
    delete answer.error.message
    delete answer.error.cause?.message
  }
}
console.log(JSON.stringify(report, null, 1))
