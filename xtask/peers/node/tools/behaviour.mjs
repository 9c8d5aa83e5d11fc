// Performs the steps of a script: what a body, a listener, a guard or an answer does when it is reached. README.md has the vocabulary.

import { llm } from './reference.mjs'
import { GETTER_FAILS } from './trace.mjs'

// Values that JSON cannot hold are written {"$lossy": KIND} in a script.
const LOSSY = {
  nan: () => NaN,
  infinity: () => Infinity,
  'minus-zero': () => -0,
  undefined: () => undefined,
  function: () => () => {},
  bigint: () => 1n,
  date: () => new Date(0),
  sparse: () => [1, , 3],
  cycle: () => {
    const loop = {}
    loop.self = loop
    return loop
  },
  getter: () => ({ get failing() { throw new Error(GETTER_FAILS) } }),
}

export function decode(value) {
  if (Array.isArray(value)) return value.map(decode)
  if (value === null || typeof value !== 'object') return value
  if (Object.hasOwn(value, '$lossy')) return LOSSY[value.$lossy]()
  if (Object.hasOwn(value, '$deep')) return deep(value.$deep)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decode(inner)]))
}

function deep(levels) {
  let value = 'bottom'
  while (levels--) value = [value]
  return value
}

class ScriptError extends llm.HarnessError {}

export function thrown(kind) {
  if (kind.error !== undefined) return new Error(kind.error)
  if (kind.harness) {
    const { code, name, message } = kind.harness
    const error = new ScriptError(message, code)
    error.name = name ?? 'HarnessError'
    return error
  }
  if (kind.object) return decode(kind.object)
  if (kind.hostile) return new Proxy({}, { get() { throw new Error('no access') }, getPrototypeOf() { throw new Error('no access') } })
  return decode(kind.value)
}

export const message = (text) =>
  llm.createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'plugin', plugin: 'script' } })

// A decision as the reference takes it: its contexts are messages.
export function decision(form) {
  const { contexts, ...rest } = decode(form)
  return contexts ? { ...rest, additionalContexts: contexts.map(message) } : rest
}

// A result that a listener writes itself.
export function result(form) {
  const { contexts, ...rest } = decode(form)
  const error = rest.error
  if (error?.code) rest.error = { message: error.message, info: { name: error.name, code: error.code } }
  return contexts ? { ...rest, additionalContexts: contexts.map(message) } : rest
}

// Each step has one key, and gives nothing or, if it is the last, {value}. `at` is the place that was reached: who, the execution, the call, and what can be done there.
const STEPS = {
  note: (at, text) => void at.log(`note ${text}`),
  abort: (at, reason) => void at.call.controller.abort(reason === true ? undefined : new Error(reason)),
  // Goes on for calls of one tool alone.
  only: ({ exec, next, passed, outcome }, tool) => (exec.name === tool ? undefined : { value: passed ? outcome : next?.() }),
  do: (at, ops) => at.host.doAll(at, [ops].flat()),
  throw: (_, kind) => { throw thrown(kind) },

  // Asynchronous ones.
  yield: async (_, times) => {
    while (times--) await new Promise((resolve) => setImmediate(resolve))
  },
  sleep_ms: (_, ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  wait: ({ exec }) => new Promise((resolve) => {
    if (exec.signal.aborted) return resolve()
    exec.signal.addEventListener('abort', () => resolve(), { once: true })
  }),
  call: async (at, call) => void (await at.host.call(call, at)),

  // What is seen.
  log_signal: (at) => void at.log(`signal ${at.exec.signal.aborted ? 'aborted' : 'live'}`),
  log_arguments: (at) => void at.log(`arguments ${JSON.stringify(at.exec.arguments)}`),

  // Bodies.
  return: (_, value) => ({ value: decode(value) }),
  return_argument: ({ args }, key) => ({ value: args[key] }),
  defer: ({ exec }, text) => void exec.deferContext(message(text)),
  conclude: ({ exec }) => void exec.concludeTurn(),

  // Listeners with a `next`.
  next: async (at) => {
    at.outcome = await at.next()
    at.passed = true
    at.log(`saw ${at.kindOf(at.outcome)}`)
  },
  decide: (_, form) => ({ value: decision(form) }),
  result: (_, form) => ({ value: result(form) }),
  cached: (at, id) => ({ value: at.host.results.get(id) }),
  replace_signal: (at, how) => {
    at.earlier ??= at.exec.signal
    at.own = new AbortController()
    at.host.own.set(at.who, at.own)
    if (how === 'aborted') at.own.abort(new Error('aborted by the listener'))
    at.exec.signal = at.own.signal
  },
  abort_own_signal: (at) => void at.own.abort(new Error('aborted by the listener')),
  restore_signal: (at) => void (at.exec.signal = at.earlier),
  tamper: (at, field) => {
    try {
      at.outcome[field] = 'tampered with'
      at.log(`tamper ${field} accepted`)
    } catch {
      at.log(`tamper ${field} refused`)
    }
  },
  tamper_arguments: (at) => {
    try {
      at.exec.arguments.added = true
      at.log('tamper arguments accepted')
    } catch {
      at.log('tamper arguments refused')
    }
  },

  // Guards, finalizers, answers.
  deny: (_, reason) => ({ value: reason }),
  content: (_, blocks) => ({ value: decode(blocks) }),
  answer: (_, outcome) => ({ value: outcome }),
  later_throw: (_, kind) => ({ value: Promise.reject(thrown(kind)) }),
}

function step(at, form) {
  const [[name, argument], ...more] = Object.entries(form)
  if (more.length || !Object.hasOwn(STEPS, name)) throw new Error(`no such step: ${JSON.stringify(form)}`)
  return STEPS[name](at, argument)
}

// For places that must answer at once.
export function performSync(at, steps) {
  for (const form of steps) {
    const end = step(at, form)
    if (end) return end.value
  }
  return undefined
}

export async function perform(at, steps) {
  for (const form of steps) {
    const end = await step(at, form)
    if (end) return end.value
  }
  return at.outcome
}
