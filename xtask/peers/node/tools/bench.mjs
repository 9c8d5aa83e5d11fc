// What one tool call costs in the reference's pipeline: node bench.mjs [--quick] [--work NAME]
// Prints one JSON object per line: {name, median_ns, min_ns, cpu_ns, runs}. Every row is measured in a process of its own. `cpu_ns`
// is the median of the processor time of the whole process, its collector included: what to look at on a machine that is busy.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { Context, fail, prompt, scopes, timeoutPolicy, tools } from './reference.mjs'

const args = process.argv.slice(2)
const option = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
const quick = args.includes('--quick')

const WARM_UP_MS = quick ? 200 : 1_000
const RUN_MS = quick ? 100 : 500
const RUNS = quick ? 5 : 15

const STATIONS = {
  'tools/pre-execute': (exec, next) => next(),
  'tools/execute': (exec, next) => next(),
  'tools/post-execute': (exec, result, next) => next(),
  'tools/result': () => {},
}

async function host() {
  const root = new Context()
  await root.plugin(prompt.default, {})
  await root.plugin(tools.default, {})
  let ctx
  await root.plugin({ name: 'bench', inject: ['tools'], apply: (own) => void (ctx = own) })
  const text = { schema: { type: 'string' }, render: (_, value) => [{ type: 'text', text: value }] }
  const parameters = { text: { type: 'string' }, data: { type: 'array', items: { type: 'json' } } }
  ctx.tools.register(tools.defineTool({
    name: 'echo', description: 'gives back its text', parameters, output: text, execute: async ({ text }) => text,
  }))
  return { root, ctx }
}

// Three listeners of each station, a policy of time limits, three guards: each lets everything pass.
async function policies({ root, ctx }) {
  await root.plugin(timeoutPolicy)
  for (let i = 0; i < 3; i++) {
    // A closure of its own for each registration.
    for (const [event, pass] of Object.entries(STATIONS)) ctx.on(event, (...payload) => pass(...payload))
    ctx.tools.guard(() => undefined)
  }
}

function agent({ ctx }, id) {
  const key = { id }
  const scope = scopes.createScope(ctx, key)
  scope.ctx.on('tools/pre-execute', (exec, next) => next())
  scope.ctx.tools.guard(() => undefined)
  return key
}

function caller({ ctx }, more = {}) {
  const { signal } = new AbortController()
  let n = 0
  return async (input = { text: 'hello' }) => {
    const result = await ctx.tools.execute({ callId: `c${n++}`, name: 'echo', arguments: input, signal, ...more })
    if (result.value !== 'hello') throw new Error(`the call failed: ${result.error?.message}`)
  }
}

const data = Array.from({ length: 200 }, (_, id) => ({ id, name: `n${id}`, ok: true }))

async function others(count) {
  const on = await host()
  await policies(on)
  const own = agent(on, 'own')
  for (let i = 0; i < count; i++) agent(on, i)
  return caller(on, { agent: own })
}

const ROWS = {
  bare: async () => caller(await host()),
  policies: async () => {
    const on = await host()
    await policies(on)
    return caller(on)
  },
  'arguments/parsed': async () => {
    const call = await ROWS.policies()
    const input = { text: 'hello', data }
    return () => call(input)
  },
  'arguments/text': async () => {
    const call = await ROWS.policies()
    const input = JSON.stringify({ text: 'hello', data })
    return () => call(JSON.parse(input))
  },
  'agents/100': () => others(100),
  'agents/1000': () => others(1_000),
}

// Nanoseconds of one call in each of the runs, in order.
async function measure(call) {
  const timed = async (times) => {
    const cpu = process.cpuUsage()
    const from = process.hrtime.bigint()
    for (let i = 0; i < times; i++) await call()
    const wall = Number(process.hrtime.bigint() - from)
    const { user, system } = process.cpuUsage(cpu)
    return { wall, cpu: (user + system) * 1e3 }
  }
  let spent = 0
  let calls = 0
  while (spent < WARM_UP_MS * 1e6) {
    spent += (await timed(50)).wall
    calls += 50
  }
  const times = Math.max(10, Math.ceil((calls * RUN_MS) / (spent / 1e6)))
  const runs = []
  while (runs.length < RUNS) runs.push(await timed(times))
  const each = (kind) => runs.map((run) => Math.round(run[kind] / times)).sort((a, b) => a - b)
  const wall = each('wall')
  return { median_ns: wall[RUNS >> 1], min_ns: wall[0], cpu_ns: each('cpu')[RUNS >> 1], runs: RUNS }
}

const row = option('--row')
if (row) {
  console.log(JSON.stringify({ name: row, ...(await measure(await ROWS[row]())) }))
  process.exit(0)
}

const only = option('--work')
const names = Object.keys(ROWS).filter((name) => !only || name === only)
if (!names.length) fail(`no such work: ${only}; there are ${Object.keys(ROWS).join(', ')}`)
for (const name of names) {
  const own = [fileURLToPath(import.meta.url), '--row', name, ...(quick ? ['--quick'] : [])]
  process.stdout.write(execFileSync(process.execPath, own, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }))
}
