// Writes sessions with the reference's own packages:
//   node write.mjs OUTDIR --compression none|zstd --pack true|false [--events N]
// Prints the id of every session. With --events there is one session, `bulk`, of at least N events.

import { fail, open } from './reference.mjs'

const [root, ...rest] = process.argv.slice(2)
const option = (name, fallback) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : fallback)
const compression = option('--compression', 'zstd')
const pack = option('--pack', 'true')
const events = Number(option('--events', '0'))
if (!root || !['none', 'zstd'].includes(compression) || !['true', 'false'].includes(pack) || !Number.isInteger(events)) {
  fail('usage: node write.mjs OUTDIR --compression none|zstd --pack true|false [--events N]')
}

// The store stamps what it appends with the wall clock. Ours ticks by 0, 1, 2, 3 ms in turn, and
// goes back once in a while, as wall clocks do.
let clock = 1_700_000_000_000
let ticks = 0
Date.now = () => {
  ticks += 1
  clock += ticks % 50 === 0 ? -40 : ticks % 4
  return clock
}

const text = (value) => ({ type: 'text', text: value })
const user = (id, value, source = { kind: 'user' }) => ({ id, role: 'user', source, content: [text(value)] })
const assistant = (id, content) => ({ id, role: 'assistant', source: { kind: 'model', provider: 'mock', model: 'm-1' }, content })
const call = (id, name, args) => ({ type: 'tool-call', id, name, arguments: args })
const result = (id, callId, value) => ({
  id,
  role: 'user',
  source: { kind: 'tool', callId },
  content: [{ type: 'tool-result', toolCallId: callId, isError: false, content: [text(value)] }],
})
const APPEND = { surfaceOp: 'append' }
const ODD = 'quote " slash / back \\ tab\t nul\u0000 bell\u0007 esc\u001b del\u007f nel\u0085 ls\u2028 ps\u2029 bom\ufeff é 日本語 😀 <&>'

function chunks(session, turn, step) {
  const chunk = (value) => session.append('assistant/chunk', { turn, step, chunk: value })
  chunk({ type: 'block-start', index: 0, blockType: 'reasoning' })
  for (const part of ['Let', ' me', ' think', ' 😀']) chunk({ type: 'reasoning-delta', index: 0, text: part })
  chunk({ type: 'block-end', index: 0, block: { type: 'reasoning', text: 'Let me think 😀' } })
  chunk({ type: 'block-start', index: 1, blockType: 'text' })
  for (const part of ['Two', '']) chunk({ type: 'text-delta', index: 1, text: part })
  chunk({ type: 'block-end', index: 1, block: text('Two') })
  chunk({ type: 'block-start', index: 2, blockType: 'text' })
  for (const part of ['a', '', 'c', ODD]) chunk({ type: 'text-delta', index: 2, text: part })
  chunk({ type: 'block-end', index: 2, block: text('ac' + ODD) })
  chunk({ type: 'block-start', index: 3, blockType: 'tool-call' })
  // The name comes with the first fragment alone, as most models send it: two kinds of member.
  chunk({ type: 'tool-call-delta', index: 3, id: 'call-1', name: 'bash', argumentsDelta: '' })
  for (const part of ['{"comm', 'and":"ls', ' -l"}']) chunk({ type: 'tool-call-delta', index: 3, id: 'call-1', argumentsDelta: part })
  chunk({ type: 'block-end', index: 3, block: call('call-1', 'bash', '{"command":"ls -l"}') })
  for (const part of ['{', '"a":', '1}']) chunk({ type: 'tool-call-delta', index: 4, id: 'call-2', name: 'read', argumentsDelta: part })
  chunk({ type: 'usage', usage: { inputTokens: 12, outputTokens: 34 } })
  chunk({ type: 'finish', reason: { kind: 'tool-calls' } })
}

// Every core event type. `tag` keeps the message ids of two sessions apart.
async function core(store, session, tag) {
  const turns = { turn: 1 }
  const first = { turn: 1, step: 1 }
  session.append('turn/start', turns)
  const asked = session.append('user/message', user(`${tag}-m0`, ODD), APPEND)
  session.append('request/header', {
    header: {
      config: { provider: 'mock', model: 'm-1', reasoningEffort: 'high', temperature: 0.7, maxTokens: 4096, stop: ['END'] },
      adapterDefaults: { maxTokens: true },
      system: 'Be brief.',
      tools: [{ name: 'bash', description: 'Runs a command', parameters: { type: 'object', properties: { command: { type: 'string' } } } }],
    },
    reason: 'initial',
  })
  session.append('request/context', { provider: 'mock', model: 'm-1', contextWindow: 131072 })
  session.append('step/start', first)
  chunks(session, 1, 1)
  session.append('assistant/message', {
    ...first,
    message: assistant(`${tag}-m1`, [{ type: 'reasoning', text: 'Let me think 😀' }, text('ac'), call('call-1', 'bash', '{"command":"ls -l"}'), call('call-2', 'read', '{"a":1}')]),
    usage: { inputTokens: 12, outputTokens: 34 },
  }, APPEND)
  // A batch of its own: a frame ends here.
  await store.flush(session)
  const started = session.append('tool/call', { ...first, callId: 'call-1', name: 'bash', arguments: '{"command":"ls -l"}' })
  const answered = session.append('tool/result', {
    ...first,
    message: result(`${tag}-m2`, 'call-1', 'total 0\n'),
    meta: { 10: 'ten', 2: 'two', exit: 0, big: 1e21, small: 1e-7, exact: 123456789012345680000, third: 1 / 3, none: null, list: [[], {}] },
  }, { ...APPEND, sourceEventSeqs: [started.seq] })
  session.append('tool/call', { ...first, callId: 'call-2', name: 'read', arguments: '{"a":1}' })
  session.append('tool/result', { ...first, message: { ...result(`${tag}-m3`, 'call-2', 'no'), content: [{ type: 'tool-result', toolCallId: 'call-2', isError: true, content: [text('no')] }] }, error: { name: 'DeniedError', code: 'DENIED' } }, APPEND)
  session.append('todo/write', { todos: [{ content: 'look', status: 'completed' }, { content: 'tell', status: 'in_progress' }, { content: 'rest', status: 'pending' }] })
  session.append('step/end', first)
  session.append('step/start', { turn: 1, step: 2 })
  session.append('assistant/message', { turn: 1, step: 2, message: assistant(`${tag}-m4`, []), interrupted: true }, APPEND)
  session.append('step/end', { turn: 1, step: 2 })
  session.append('turn/end', { ...turns, reason: { kind: 'aborted', reason: { kind: 'user' } } })
  session.append('user/message', user(`${tag}-m5`, 'What came before, in short.', { kind: 'plugin', name: 'compaction' }), {
    surfaceOp: { op: 'replace', start: asked.seq, end: asked.seq },
    sourceEventSeqs: [asked.seq],
  })
  session.append('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [user(`${tag}-m6`, 'later')] })
  session.append('agent/inbox/spliced', { target: 'next-turn', start: 0, removedCount: 1, inserted: [], outcome: 'canceled' })
  let turn = 2
  for (const reason of [{ kind: 'completed' }, { kind: 'blocked' }, { kind: 'max-tokens' }, { kind: 'error', error: { kind: 'error', code: 'RATE_LIMITED', message: 'slow down', retryable: true } }]) {
    session.append('turn/start', { turn })
    session.append('turn/end', { turn, reason })
    turn += 1
  }
  await store.flush(session)
  return answered
}

// A turn that never ends: one call without a start, one started without a result, one answered.
function openTail(session, tag) {
  const at = { turn: 6, step: 1 }
  session.append('turn/start', { turn: 6 })
  session.append('user/message', user(`${tag}-m7`, 'again'), APPEND)
  session.append('step/start', at)
  session.append('assistant/message', {
    ...at,
    message: assistant(`${tag}-m8`, [call('open-1', 'bash', '{}'), call('open-2', 'bash', '{}'), call('open-3', 'read', '{}')]),
  }, APPEND)
  session.append('tool/call', { ...at, callId: 'open-2', name: 'bash', arguments: '{}' })
  session.append('tool/call', { ...at, callId: 'open-3', name: 'read', arguments: '{}' })
  session.append('tool/result', { ...at, message: result(`${tag}-m9`, 'open-3', 'ok') }, APPEND)
}

async function all({ store }) {
  const done = []
  const create = (id, options = {}) => {
    done.push(id)
    return store.create(id, { ...options, meta: { createdAt: 1_700_000_000_000, ...options.meta } })
  }
  await core(store, create('core', { meta: { cwd: '/srv/näme 1' } }), 'c')

  const open = create('open-turn')
  await core(store, open, 'o')
  openTail(open, 'o')
  await store.flush(open)

  // Unknown to every reader, and kept as it stands: the order of its keys and all.
  await store.flush(create('seeded/ï 😀', {
    seed: [
      { time: -5, ignorable: true, seq: 0, data: { z: 1, a: 2 }, type: 'vendor/unknown' },
      { type: 'vendor/unknown', seq: 1, time: 0, data: null, ignorable: true },
    ],
    meta: { cwd: '/', origin: 'subagent', delegationDepth: 2, agentPreset: 'plan' },
  }))

  const parent = create('parent', { meta: { cwd: '/a:b\\c//d~e' } })
  await core(store, parent, 'p')
  await store.flush(parent)
  done.push('child')
  const child = store.fork(parent, undefined, 'child')
  child.append('turn/start', { turn: 6 })
  child.append('turn/end', { turn: 6, reason: { kind: 'completed' } })
  await store.flush(child)
  return done
}

// Turns like those of an agent: mostly chunks, four batches to a turn.
async function bulk({ store }) {
  const session = store.create('bulk', { meta: { createdAt: 1_700_000_000_000, cwd: '/srv' } })
  for (let turn = 1; session.seq < events; turn++) {
    const at = { turn, step: 1 }
    session.append('turn/start', { turn })
    session.append('user/message', user(`m${turn}-u`, `Question ${turn}`), APPEND)
    session.append('step/start', at)
    await store.flush(session)
    for (const type of ['reasoning-delta', 'text-delta']) {
      for (let i = 0; i < 120; i++) session.append('assistant/chunk', { ...at, chunk: { type, index: type === 'text-delta' ? 1 : 0, text: ` word${(i * 7919 + turn) % 997}` } })
      await store.flush(session)
    }
    session.append('assistant/message', { ...at, message: assistant(`m${turn}-a`, [text(`Answer ${turn}`), call(`call-${turn}`, 'bash', '{"command":"ls"}')]) }, APPEND)
    session.append('tool/call', { ...at, callId: `call-${turn}`, name: 'bash', arguments: '{"command":"ls"}' })
    session.append('tool/result', { ...at, message: result(`m${turn}-r`, `call-${turn}`, 'file\n'.repeat(40)) }, APPEND)
    session.append('step/end', at)
    session.append('turn/end', { turn, reason: { kind: 'completed' } })
    await store.flush(session)
  }
  return ['bulk']
}

const host = await open(root, { compression, packChunks: pack === 'true' })
const ids = await (events ? bulk(host) : all(host))
await host.close()
for (const id of ids) console.log(id)
