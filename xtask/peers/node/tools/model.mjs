// A model that says what a script has it say, one answer per request.

import { llm } from './reference.mjs'

export const service = async () => llm

export class Model extends llm.LlmAdapter {
  constructor(runtime) {
    super()
    this.answers = []
    runtime.registerAdapter(['script'], this)
  }

  say(answers) {
    this.answers = [...answers]
  }

  userMessage(text) {
    return llm.createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
  }

  async *stream() {
    const { text = 'done', calls = [] } = this.answers.shift() ?? {}
    let index = 0
    yield* block(index++, { type: 'text', text })
    for (const { id, name, arguments: args } of calls) {
      yield* block(index++, { type: 'tool-call', id, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) })
    }
    yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }
    yield { type: 'finish', reason: { kind: calls.length ? 'tool-calls' : 'stop' } }
  }
}

function* block(index, whole) {
  yield { type: 'block-start', index, blockType: whole.type }
  yield { type: 'block-end', index, block: whole }
}
