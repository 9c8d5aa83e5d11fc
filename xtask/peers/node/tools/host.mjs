// The host of one script: the reference's tool registry with what the script mounts beside it, and the operations of scripts.

import { isDeepStrictEqual } from 'node:util'

import { decode, perform, performSync } from './behaviour.mjs'
import { Model } from './model.mjs'
import { Runtime } from './runtime.mjs'
import { Context, loadLoop, prompt, scopes, timeoutPolicy, tools } from './reference.mjs'
import { errorTrace, eventTrace, resultTrace, Wording } from './trace.mjs'

const LOGGED = new Set(['tool/call', 'tool/result', 'tool/code-dispatch-start', 'tool/code-dispatch',
  'approval/asked', 'approval/decided', 'user/message', 'turn/start', 'turn/end', 'step/start', 'step/end'])

export class Host {
  constructor(script) {
    this.script = script
    this.wording = new Wording(script)
    this.entries = []
    this.results = new Map()
    this.calls = new Map()
    this.registered = new Map()
    this.scopes = new Map()
    this.own = new Map()
    this.answers = [...(script.approval ?? [])]
  }

  log(entry) {
    this.entries.push(entry)
  }

  // ---------------------------------------------------------------- mounting

  async start() {
    const { config = {}, agents = [], approval, runtime, toolOrder, loop } = this.script
    const root = (this.root = new Context())
    root.logger.exporters.clear()
    root.logger.exporters.set(1, { levels: { default: 9 }, export: ({ type, args }) => this.warned(type, args) })
    await root.plugin(prompt.default, toolOrder ? { toolOrder } : {})
    await root.plugin(tools.default, config)
    if (runtime) root.provide('codeRuntime', new Runtime(this, runtime))
    if (loop) await this.startLoop(root, loop)
    else if (approval) root.provide('approval', { request: (request) => this.ask(request) })
    const inject = ['tools', 'systemPrompt', ...(loop ? ['agents', 'sessions', 'llm', 'approval'] : [])]
    await root.plugin({ name: 'script', inject, apply: (ctx) => void (this.ctx = ctx) })
    if (this.script.watch_changes) root.on('tools/change', () => this.log('tools/change'))
    root.on('tools/result', (exec) => this.log(`${exec.callId} result`))
    for (const { id, parent } of agents) await this.openAgent(id, parent)
  }

  async startLoop(root, config) {
    const parts = await loadLoop()
    await root.plugin(parts.sessions.default, {})
    await root.plugin(parts.agents.default, {})
    const { default: Llm } = await import('./model.mjs').then((model) => model.service())
    await root.plugin(Llm, {})
    await root.plugin(parts.loop.default, { agents: [], ...config })
    if (this.script.approval) await root.plugin(parts.approval.default, {})
    else root.provide('approval', undefined)
  }

  async openAgent(id, parent) {
    if (this.script.loop) {
      this.model ??= new Model(this.ctx.llm)
      const { agent } = await this.ctx.agents.create({ sessionId: id, agentOptions: { provider: 'script', model: 'script' } })
      this.scopes.set(id, { key: agent, ctx: agent.ctx })
      if (this.script.approval) agent.ctx.on('approval/request', (request) => this.ask(request))
      return
    }
    const key = { id }
    const scope = scopes.createScope(this.ctx, key, parent ? { parent: this.scopes.get(parent).key } : {})
    this.scopes.set(id, { key, ctx: scope.ctx, dispose: scope.dispose })
  }

  async stop() {
    await this.root.fiber?.dispose?.()
  }

  warned(type, args) {
    if (type === 'warn') this.log(`warning ${JSON.stringify(this.wording.of(String(args[0])))}`)
  }

  contextOf(scope) {
    return scope === undefined ? this.ctx : this.scopes.get(scope).ctx
  }

  keyOf(scope) {
    return scope === undefined ? undefined : this.scopes.get(scope).key
  }

  // ---------------------------------------------------------------- operations

  // Operations inside of a behaviour: what they give is logged.
  doAll(at, ops) {
    let rest = Promise.resolve()
    let waits = false
    for (const op of ops) {
      if (waits) rest = rest.then(() => this.doOne(at, op))
      else {
        const done = this.doOne(at, op)
        if (done) [rest, waits] = [done, true]
      }
    }
    return waits ? rest : undefined
  }

  doOne(at, op) {
    const failed = (error) => at.log(`do ${op.op} failed ${JSON.stringify(errorTrace(error, this.wording))}`)
    try {
      const done = OPS[op.op](this, op)
      return done?.then ? done.then(() => {}, failed) : undefined
    } catch (error) {
      return void failed(error)
    }
  }

  async operate(op) {
    if (!Object.hasOwn(OPS, op.op)) throw new Error(`no such operation: ${op.op}`)
    try {
      const given = await OPS[op.op](this, op)
      return given === undefined ? 'done' : given
    } catch (error) {
      return { error: errorTrace(error, this.wording) }
    }
  }

  keep(name, dispose) {
    this.registered.set(name, dispose)
  }

  // The place at which a behaviour is performed.
  at(who, exec, more = {}) {
    const id = exec?.callId
    return {
      host: this,
      who,
      exec,
      call: this.calls.get(id),
      log: (what) => this.log(id === undefined ? `${who} ${what}` : `${id} ${who} ${what}`),
      kindOf: (outcome) => kindOf(outcome),
      ...more,
    }
  }

  // ---------------------------------------------------------------- calls

  async call(form, outer) {
    const { tool, agent, aborted, accessors } = form
    // A nested call may be made more than once, so its id can be told from the outer one.
    const id = form.id ?? `${outer.exec.callId}/${form.id_suffix}`
    const shared = outer && !form.own_signal
    const controller = (shared && outer.call?.controller) || new AbortController()
    this.calls.set(id, { controller })
    if (aborted) controller.abort()
    const input = { callId: id, name: tool, signal: shared ? outer.exec.signal : controller.signal }
    input.arguments = Object.hasOwn(form, 'arguments') ? decode(form.arguments) : {}
    const key = agent === undefined ? outer?.exec.agent : this.keyOf(agent)
    if (key !== undefined) input.agent = key
    if (form.root !== undefined) input.rootCallId = form.root
    if (outer) Object.assign(input, { parent: outer.exec.token, rootCallId: outer.exec.rootCallId })
    const result = await this.ctx.tools.execute(accessors ? this.spied(id, input) : input)
    this.results.set(id, result)
  }

  spied(id, input) {
    const spy = {}
    for (const key of ['callId', 'rootCallId', 'name', 'agent', 'parent', 'signal', 'arguments']) {
      Object.defineProperty(spy, key, { enumerable: true, get: () => (this.log(`${id} reads ${key}`), input[key]) })
    }
    return spy
  }

  async ask(request) {
    const id = request.callId
    const at = this.at('approval', { callId: id, signal: request.signal })
    at.log(`asked ${JSON.stringify({ tool: request.toolName, ...(request.reason === undefined ? {} : { reason: this.wording.of(request.reason) }) })}`)
    const steps = this.answers.shift()
    if (steps === undefined) throw new Error('the script has no answer left')
    let outcome = 'throw'
    try {
      return (outcome = await perform(at, typeof steps === 'string' ? [{ answer: steps }] : steps))
    } finally {
      at.log(`answered ${outcome}`)
    }
  }

  async turn({ agent, steps, abort_on }) {
    const { key } = this.scopes.get(agent)
    const start = key.session.events.length
    this.model.say(steps)
    const off = abort_on && key.ctx.on('session/event', (session, event) => {
      if (event.type === abort_on.type && (abort_on.callId ?? event.data.callId) === event.data.callId) key.cancel({ kind: 'user' })
    })
    key.followup(this.model.userMessage('go'))
    await key.whenIdle()
    off?.()
    const events = key.session.events.slice(start)
    const questions = new Map()
    const ids = (id) => questions.get(id) ?? questions.set(id, `question-${questions.size + 1}`).get(id)
    ids.seq = (seq) => {
      const source = key.session.events.find((event) => event.seq === seq)
      return source?.type === 'tool/call' ? `tool/call ${source.data.callId}` : source?.type
    }
    return events.filter(isLogged).map((event) => eventTrace(event, ids, this.wording))
  }

  trace(outcomes) {
    const results = Object.fromEntries([...this.results].map(([id, result]) => [id, resultTrace(result, this.wording)]))
    return { log: this.entries, outcomes, results }
  }
}

// Of messages to the model only those that tools and listeners added.
function isLogged({ type, data }) {
  return LOGGED.has(type) && (type !== 'user/message' || ['script', 'tools-code-mode'].includes(data.source?.plugin))
}

function kindOf(outcome) {
  if (outcome === undefined) return 'nothing'
  if (typeof outcome.kind === 'string') return outcome.kind
  return outcome.isError ? `failure${outcome.error?.info ? ` ${outcome.error.info.code}` : ''}` : 'success'
}

// ---------------------------------------------------------------- definitions

function renderer(host, name, form = 'text') {
  if (form === 'none') return undefined
  return (args, value) => {
    host.log(`render ${name}`)
    if (form === 'text') return [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }]
    const at = host.at(`render ${name}`, undefined)
    return performSync(at, form)
  }
}

function definition(host, op) {
  const { name, raw, timeout_ms, concurrency_safe, finalizer, views, output = {}, body = [{ return: 'ok' }] } = op
  const schema = Object.hasOwn(output, 'schema') ? decode(output.schema) : raw ? {} : { type: 'json' }
  const form = {
    name,
    description: op.description ?? `the tool ${name}`,
    parameters: decode(op.parameters ?? (raw ? { type: 'object' } : {})),
    output: output === 'none' ? undefined : { schema, render: renderer(host, name, output.render) },
    async execute(args, exec) {
      const at = host.at(`body ${name}`, exec, { args })
      at.log('enter')
      let end = 'throw'
      try {
        const value = await perform(at, body)
        end = 'return'
        return value
      } finally {
        at.log(`leave ${end}`)
      }
    },
  }
  if (output.meta) {
    form.output.presentationMeta = () => {
      host.log(`meta ${name}`)
      return performSync(host.at(`meta ${name}`, undefined), output.meta)
    }
  }
  if (timeout_ms !== undefined) form.timeoutMs = decode(timeout_ms)
  if (concurrency_safe !== undefined) {
    form.isConcurrencySafe = (args) => {
      if (concurrency_safe.throw) return performSync(host.at('', undefined), [concurrency_safe])
      return concurrency_safe.argument ? args?.[concurrency_safe.argument] : decode(concurrency_safe)
    }
  }
  if (finalizer) {
    form.finalizeContent = (exec, result) => {
      const at = host.at(`finalizer ${name}`, exec, { outcome: result })
      at.log(kindOf(result))
      return performSync(at, finalizer)
    }
  }
  if (views?.call) form.presentCall = () => decode(views.call)
  if (views?.result) form.presentResult = () => decode(views.result)
  return raw ? form : tools.defineTool(form)
}

const STATIONS = {
  'pre-execute': (host, name, steps) => (exec, next) => around(host.at(`pre-execute ${name}`, exec, { next }), steps),
  execute: (host, name, steps) => (exec, next) => around(host.at(`execute ${name}`, exec, { next }), steps),
  'post-execute': (host, name, steps) => (exec, result, next) => {
    const at = host.at(`post-execute ${name}`, exec, { next })
    return around(at, steps, `enter ${kindOf(result)}`)
  },
  result: (host, name, steps) => (exec, result) => {
    const at = host.at(`observer ${name}`, exec, { outcome: result })
    at.log(kindOf(result))
    return performSync(at, steps)
  },
  'code-dispatch-log': (host, name, steps) => (dispatch, next) =>
    around(host.at(`code-dispatch-log ${name}`, { callId: dispatch.subCallId, name: dispatch.name, signal: dispatch.exec.signal }, { next, kindOf: () => 'content' }), steps),
  change: (host, name, steps) => () => {
    const at = host.at(`change ${name}`, undefined)
    at.log('called')
    return performSync(at, steps)
  },
}

async function around(at, steps, enter = 'enter') {
  at.log(enter)
  let end = 'throw'
  try {
    const outcome = await perform(at, steps)
    end = at.kindOf(outcome)
    return outcome
  } finally {
    at.log(`leave ${end}`)
  }
}

// ---------------------------------------------------------------- operations

const sections = async (host) => (await host.ctx.systemPrompt.assemble({})).sections

const OPS = {
  tool: (host, op) => {
    const form = op.same_as ? host.registered.get(`definition ${op.same_as}`) : definition(host, op)
    host.registered.set(`definition ${op.as ?? op.name}`, form)
    host.keep(op.as ?? op.name, host.contextOf(op.scope).tools.register(form))
  },
  listen: (host, { station, name, scope, prepend, steps = [{ next: true }] }) => {
    const listener = STATIONS[station](host, name, steps)
    host.keep(name, host.contextOf(scope).on(`tools/${station}`, listener, { prepend: prepend === true }))
  },
  guard: (host, { name, as, scope, same_as, steps = [] }) => {
    const guard = same_as ? host.registered.get(`guard ${same_as}`) : (exec) => {
      const at = host.at(`guard ${name}`, exec)
      let end = 'throw'
      try {
        const reason = performSync(at, steps)
        end = reason === undefined ? 'pass' : 'deny'
        return reason
      } finally {
        at.log(end)
      }
    }
    host.registered.set(`guard ${as ?? name}`, guard)
    host.keep(as ?? name, host.contextOf(scope).tools.guard(guard))
  },
  restrict: (host, { name = 'restriction', scope, allow, deny }) => {
    const filter = {}
    if (allow) filter.allow = allow
    if (deny) filter.deny = deny
    host.keep(name, host.contextOf(scope).tools.restrict(filter))
  },
  present: (host, { name = 'presentation', scope, mode }) => host.keep(name, host.contextOf(scope).tools.presentAs(mode)),
  load: async (host, { plugin }) => {
    const fiber = await host.root.plugin({ 'timeout-policy': timeoutPolicy }[plugin])
    host.keep(plugin, () => fiber.dispose())
  },
  dispose: (host, { of }) => {
    const done = host.registered.get(of)()
    return done?.then?.(() => undefined)
  },
  abort_own: (host, { of }) => void host.own.get(`execute ${of}`).abort(new Error('aborted by the script')),
  abort_call: (host, { of }) => void host.calls.get(of).controller.abort(),
  cancel: (host, { agent }) => void host.keyOf(agent).cancel({ kind: 'user' }),
  close: (host, { scope }) => host.scopes.get(scope).dispose(),
  bind: (host, { child, parent }) => void scopes.bindScopeParent(host.keyOf(child), host.keyOf(parent)),
  schemas: (host, { scope, whole }) => {
    const schemas = host.ctx.tools.schemas(host.keyOf(scope))
    return whole ? schemas : schemas.map(({ name }) => name)
  },
  get: (host, { tool, scope }) => {
    const found = host.ctx.tools.get(tool, host.keyOf(scope))
    const same = [...host.registered].find(([, kept]) => kept === found)
    return found === undefined ? 'nothing' : same ? same[0] : 'another'
  },
  mode: (host, { tool, agent, arguments: args = {} }) => {
    const input = { callId: 'mode', name: tool, arguments: decode(args), signal: new AbortController().signal }
    if (agent !== undefined) input.agent = host.keyOf(agent)
    return host.ctx.tools.executionMode(input).kind
  },
  assemble: async (host, { scope }) => {
    const { tools: offered, sections } = await host.ctx.systemPrompt.assemble(scope === undefined ? {} : { scope: host.keyOf(scope) })
    return {
      tools: offered.map(({ name }) => name),
      sections: sections.filter(({ name }) => name.startsWith('tools:')).map(({ name, text }) => `${name}${text ? '' : ' (empty)'}`),
    }
  },
  remember_prompt: async (host) => void (host.prompt = await sections(host)),
  same_prompt: async (host) => (isDeepStrictEqual(host.prompt, await sections(host)) ? 'same' : 'different'),
  views: (host, { tool, scope, arguments: args = {}, of }) => {
    const found = host.ctx.tools.get(tool, host.keyOf(scope))
    const input = decode(args)
    const result = host.results.get(of)
    return { call: found.presentCall?.(input) ?? null, ...(result ? { result: found.presentResult?.(input, result) ?? null } : {}) }
  },
  call: (host, op) => host.call(op),
  turn: (host, op) => host.turn(op),
}

export async function run(script) {
  const host = new Host(script)
  try {
    await host.start()
  } catch (error) {
    return { start: { error: errorTrace(error, host.wording) } }
  }
  const outcomes = []
  for (const [index, op] of script.steps.entries()) {
    const outcome = await host.operate(op)
    if (index >= script.skip) outcomes.push(outcome)
    else if (outcome !== 'done') throw new Error(`${script.name}: what it uses cannot be mounted: ${JSON.stringify(outcome)}`)
  }
  // What was left running, a rejection of an observer for one, is over by then.
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
  const trace = host.trace(outcomes)
  await host.stop()
  return trace
}
