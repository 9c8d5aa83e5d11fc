// A code runtime whose programs are lists of steps in JSON, so that any host can run them.

export class Runtime {
  constructor(host, { language = 'typescript' }) {
    this.host = host
    this.language = language
    this.isolation = 'process'
  }

  async run({ program, bindings, signal }) {
    const [{ functions }] = bindings
    const logs = []
    const seen = new Map()
    const call = async ({ call: name, arguments: args = {}, as }) => {
      try {
        const value = await functions[name](args)
        seen.set(as, value)
        this.host.log(`program ${name} gave ${JSON.stringify(value)}`)
      } catch (error) {
        this.host.log(`program ${name} failed ${JSON.stringify(this.host.wording.of(error.message))}`)
      }
    }
    for (const step of JSON.parse(program)) {
      if (step.call !== undefined) await call(step)
      else if (step.together) await Promise.all(step.together.map(call))
      else if (step.leave) call(step.leave)
      else if (step.log !== undefined) logs.push(step.log)
      else if (step.names) this.host.log(`program sees ${Object.keys(functions).join(' ')}`)
      else if (step.yield) for (let i = 0; i < step.yield; i++) await new Promise((resolve) => setImmediate(resolve))
      else if (step.wait_abort) await new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', resolve)))
      else if (step.fail) return { logs, error: step.fail }
      else if (Object.hasOwn(step, 'return')) return { logs, value: step.return }
      else if (step.return_seen) return { logs, value: seen.get(step.return_seen) }
      else throw new Error(`no such program step: ${JSON.stringify(step)}`)
    }
    return { logs }
  }
}
