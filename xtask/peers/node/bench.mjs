// Benchmarks of one npm peer: node bench.mjs PACKAGE [--quick] [--work NAME]
// Prints one JSON object per line; see ../README.md.
//
// Every work runs in a process of its own: neither the heap nor the compiled code that one
// leaves behind can touch the next, and one that aborts or hangs is reported and left behind.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const WORKS = [
  'emit/1', 'emit/10', 'emit/100', 'emit/1000',
  'waterfall/1', 'waterfall/10', 'waterfall/100',
  'serial/10', 'parallel/10',
  'get', 'scope-1000',
  'load/1', 'load/100', 'load/1000', 'load/10000',
  'swap/250', 'swap/1000', 'swap/4000',
  'chain/10000', 'churn/1000',
  'memory', 'leak',
]

const [pkg, ...rest] = process.argv.slice(2)
const flag = (name) => rest.includes(name)
const option = (name) => (flag(name) ? rest[rest.indexOf(name) + 1] : undefined)
const quick = flag('--quick')
if (!pkg) {
  console.error('usage: node bench.mjs PACKAGE [--quick] [--work NAME]')
  process.exit(1)
}
const manifest = new URL(`node_modules/${pkg}/package.json`, import.meta.url)
const peer = `${pkg} ${JSON.parse(readFileSync(manifest)).version}`

// ---------------------------------------------------------------- measuring

const SAMPLES = quick ? 15 : 31
const SAMPLE_MS = quick ? 3 : 20
const WARM_UP_MS = quick ? 100 : 500
const TIME_BOX_MS = quick ? 1_500 : 10_000
const POPULATION = quick ? 1_000 : 10_000

// What one cycle of the chain may take, and what any other work may take in all.
const CHAIN_LIMIT_MS = 20_000
const CHAIN_SETUP_LIMIT_MS = 60_000
const WORK_LIMIT_MS = quick ? 10_000 : 120_000

const now = () => performance.now()

function stat(samples) {
  samples.sort((a, b) => a - b)
  const at = (q) => samples[Math.round((samples.length - 1) * q)]
  const median = at(0.5)
  return { median, spread: (at(0.9) - at(0.1)) / median, samples: samples.length }
}

const asNs = ({ median, spread, samples }) => ({ ns: median, spread, samples })

// Nanoseconds of one operation. `run(n)` does it n times; `per` is the number of items that one
// operation deals with.
async function measure(run, per = 1) {
  const start = now()
  const timed = async (n) => {
    const from = now()
    const pending = run(n)
    if (pending) await pending
    return now() - from
  }
  // Warm up, and find how many operations fill one sample.
  let iters = 1
  while (now() - start < TIME_BOX_MS / 3) {
    const took = await timed(iters)
    if (took < SAMPLE_MS) {
      iters = Math.ceil(iters * Math.min(10, Math.max(1.5, SAMPLE_MS / took)))
    } else if (now() - start >= WARM_UP_MS) {
      break
    } else {
      iters = Math.max(1, Math.ceil((iters * SAMPLE_MS) / took))
    }
  }
  const samples = []
  while (samples.length < SAMPLES && (!samples.length || now() - start < TIME_BOX_MS)) {
    samples.push(((await timed(iters)) * 1e6) / iters / per)
  }
  return asNs(stat(samples))
}

function check(condition, message) {
  if (!condition) throw new Error(message)
}

// ---------------------------------------------------------------- works

let sink = 0
const touch = (payload) => { sink += payload.value }
const payload = { value: 1 }
const EVENTS = Array.from({ length: 10 }, (_, i) => `bench/e${i}`)
const size = (work) => Number(work.split('/').at(-1))

function listenToTen(ctx) {
  // A closure of its own for each registration: a listener is removed by its identity.
  for (const event of EVENTS) ctx.on(event, (p) => { sink += p.value })
}

const works = {
  emit({ root, n }) {
    for (let i = 0; i < n; i++) root.on('bench', (p) => { sink += p.value })
    return measure((times) => {
      while (times--) root.emit('bench', payload)
    })
  },

  waterfall({ root, n }) {
    for (let i = 0; i < n; i++) {
      root.on('bench', async (p, next) => {
        sink += p.value
        return await next()
      })
    }
    return measure(async (times) => {
      while (times--) check((await root.waterfall('bench', payload, async () => 7)) === 7, 'a lost result')
    })
  },

  serial({ root, n }) {
    for (let i = 0; i < n; i++) root.on('bench', async (p) => { sink += p.value })
    return measure(async (times) => {
      while (times--) await root.serial('bench', payload)
    })
  },

  parallel({ root, n }) {
    for (let i = 0; i < n; i++) root.on('bench', async (p) => { sink += p.value })
    return measure(async (times) => {
      while (times--) await root.parallel('bench', payload)
    })
  },

  // A property of a context five plugins below the one that asked for the service.
  async get({ root }) {
    await root.plugin({ name: 'provider', apply: (ctx) => void ctx.provide('svc', { value: 1 }) })
    let ctx = root
    for (let level = 0; level < 5; level++) {
      let inner
      await ctx.plugin({ name: `level${level}`, inject: level ? [] : ['svc'], apply: (own) => void (inner = own) })
      ctx = inner
    }
    check(ctx.svc.value === 1 && ctx.get('svc').value === 1, 'no service')
    const result = await measure((times) => {
      while (times--) sink += ctx.svc.value
    })
    const { ns } = await measure((times) => {
      while (times--) sink += ctx.get('svc').value
    })
    return { ...result, undeclared_ns: ns }
  },

  async 'scope-1000'({ root, Context }) {
    const kScope = Symbol('scope')
    let heard = 0
    for (let i = 0; i < 1000; i++) {
      root.extend({ [kScope]: i }).on('bench', (p) => { heard += p.value })
    }
    const target = { [Context.filter]: (ctx) => ctx[kScope] === 517 }
    let sent = 0
    const result = await measure((times) => {
      sent += times
      while (times--) root.emit(target, 'bench', payload)
    })
    check(heard === sent, `${heard} calls for ${sent} events`)
    return result
  },

  async load({ root, n, ACTIVE, DISPOSED }) {
    for (let i = 0; i < n; i++) {
      const fiber = await root.plugin({ name: `neighbour${i}`, apply: (ctx) => listenToTen(ctx) })
      check(fiber.state === ACTIVE, 'a neighbour is not active')
    }
    return measure(async (times) => {
      while (times--) {
        const fiber = await loadOne(root)
        check(fiber.state === ACTIVE, 'not active')
        await fiber.dispose()
        check(fiber.state === DISPOSED, 'not disposed')
      }
    })
  },

  async swap({ root, n, ACTIVE }) {
    let applied = 0
    const provide = () => root.plugin({ name: 'provider', apply: (ctx) => void ctx.provide('svc', { value: 1 }) })
    let provider = await provide()
    const fibers = []
    for (let i = 0; i < n; i++) {
      fibers.push(await root.plugin({
        name: `dependant${i}`,
        inject: ['svc'],
        apply: (ctx) => {
          sink += ctx.svc.value
          applied++
        },
      }))
    }
    let rounds = 1
    return measure(async (times) => {
      while (times--) {
        await provider.dispose()
        provider = await provide()
        for (const fiber of fibers) {
          await fiber.await()
          check(fiber.state === ACTIVE, 'a dependant is not active')
        }
        rounds++
        check(applied === rounds * n, `${applied} starts after ${rounds} rounds of ${n}`)
      }
    }, n)
  },

  async chain({ root, n, ACTIVE, PENDING }) {
    // Resolved by the last link, when it starts and when it stops.
    let lastStarted, lastStopped
    const fibers = []
    for (let i = 0; i < n; i++) {
      fibers.push(await root.plugin({
        name: `link${i}`,
        inject: [`svc${i}`],
        apply: (ctx) => {
          ctx.provide(`svc${i + 1}`, { value: i })
          if (i < n - 1) return
          lastStarted?.()
          return () => lastStopped?.()
        },
      }))
      check(fibers[i].state === PENDING, 'a link does not wait')
    }
    const settle = async (state) => {
      for (const fiber of fibers) {
        await fiber.await()
        check(fiber.state === state, 'a link did not follow')
      }
    }
    let base
    const up = async () => {
      const started = new Promise((resolve) => { lastStarted = resolve })
      base = await root.plugin({ name: 'base', apply: (ctx) => void ctx.provide('svc0', { value: 0 }) })
      await started
      await settle(ACTIVE)
    }
    const down = async () => {
      const stopped = new Promise((resolve) => { lastStopped = resolve })
      await base.dispose()
      await stopped
      await settle(PENDING)
    }
    const timed = async (run) => {
      const from = now()
      await run()
      return (now() - from) * 1e6
    }
    // These lines let the parent tell a slow chain from a slow set-up.
    console.log('#ready')
    const start = now()
    const took = { up: [], down: [], back: [] }
    const totals = []
    while (totals.length < SAMPLES && (!totals.length || now() - start < TIME_BOX_MS)) {
      let total = 0
      for (const [name, run] of [['up', up], ['down', down], ['back', up]]) {
        const ns = await timed(run)
        if (!took[name].length) console.log(`#${name} ${Math.round(ns)}`)
        took[name].push(ns)
        total += ns
      }
      totals.push(total)
      await down()
      console.log('#cycle')
    }
    const result = asNs(stat(totals))
    for (const name in took) result[name] = stat(took[name]).median
    return result
  },

  churn({ root, n }) {
    for (let i = 0; i < n; i++) root.on('bench', (p) => { sink += p.value })
    return measure((times) => {
      while (times--) {
        const dispose = root.on('bench', touch)
        root.emit('bench', payload)
        dispose()
        root.emit('bench', payload)
      }
    })
  },

  async memory({ root }) {
    const fibers = new Array(POPULATION)
    const load = () => root.plugin({ name: 'trivial', apply: () => {} })
    for (let i = 0; i < 100; i++) await (await load()).dispose()
    const before = await heap()
    for (let i = 0; i < POPULATION; i++) fibers[i] = await load()
    const bytes = (await heap()) - before
    check(fibers.length === POPULATION, 'plugins went missing')
    return { bytes: bytes / POPULATION }
  },

  async leak({ root }) {
    const cycle = async (times) => {
      while (times--) await (await loadOne(root)).dispose()
    }
    // The median of several rounds: now and then the engine drops or adds a megabyte of its own.
    const times = quick ? 500 : 2_500
    await cycle(times)
    let before = await heap()
    const rounds = []
    while (rounds.length < 9) {
      await cycle(times)
      const after = await heap()
      rounds.push((after - before) / times)
      before = after
    }
    return { bytes: stat(rounds).median }
  },
}

// The plugin that `load` and `leak` are about.
function loadOne(root) {
  return root.plugin({
    name: 'own',
    apply: (ctx) => {
      listenToTen(ctx)
      ctx.provide('own', { value: 1 })
    },
  })
}

async function heap() {
  for (let i = 0; i < 3; i++) {
    await new Promise(setImmediate)
    globalThis.gc()
  }
  return process.memoryUsage().heapUsed
}

// ---------------------------------------------------------------- one work, in this process

async function child(work) {
  const { Context, FiberState } = await import(pkg)
  // One of the two does not export its states.
  const { PENDING, ACTIVE, DISPOSED } = FiberState ?? { PENDING: 0, ACTIVE: 2, DISPOSED: 4 }
  const [name] = work.split('/')
  const root = new Context()
  const result = await works[name]({ root, Context, PENDING, ACTIVE, DISPOSED, n: size(work) })
  for (const key in result) result[key] = Math.round(result[key] * 1000) / 1000
  console.log(JSON.stringify({ peer, work, ...result }))
  check(sink >= 0, 'unreachable')
}

// ---------------------------------------------------------------- all works, each in a child

function runChild(work, limit) {
  return new Promise((resolve) => {
    const args = ['--expose-gc', fileURLToPath(import.meta.url), pkg, '--child', work]
    if (quick) args.push('--quick')
    const proc = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let result, complaint = '', timedOut
    const steps = {}
    let step = 'set-up'
    const expire = () => {
      timedOut = `took more than ${limit / 1000} s`
      proc.kill('SIGKILL')
    }
    let timer = setTimeout(expire, limit)
    proc.stderr.on('data', (data) => { complaint += data })
    createInterface({ input: proc.stdout }).on('line', (line) => {
      if (line.startsWith('{')) {
        result = line
        return
      }
      const [name, ns] = line.slice(1).split(' ')
      if (name === 'ready') step = 'up'
      if (ns) {
        steps[name] = Number(ns)
        step = { up: 'down', down: 'back' }[name] ?? 'later cycle'
        return
      }
      limit = CHAIN_LIMIT_MS
      clearTimeout(timer)
      timer = setTimeout(expire, limit)
    })
    proc.on('close', (code, signal) => {
      clearTimeout(timer)
      if (result && code === 0) return resolve(result)
      const error = timedOut ?? complaint.match(/^\S*Error\b.*$|^FATAL ERROR: .*$/m)?.[0] ?? `exit ${code ?? signal}`
      resolve(JSON.stringify({ peer, work, error: work.startsWith('chain/') ? `${step}: ${error}` : error, ...steps }))
    })
  })
}

if (flag('--child')) {
  await child(option('--child'))
} else {
  let ran = false
  for (let work of WORKS) {
    if (quick && ['load/10000', 'swap/4000'].includes(work)) continue
    if (quick && work === 'chain/10000') work = 'chain/1000'
    if (option('--work') && option('--work') !== work) continue
    console.log(await runChild(work, work.startsWith('chain/') ? CHAIN_SETUP_LIMIT_MS : WORK_LIMIT_MS))
    ran = true
  }
  if (!ran) {
    console.error('no such work')
    process.exitCode = 1
  }
}
