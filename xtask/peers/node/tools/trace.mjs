// What of an outcome goes into a trace, and in which words.

// Texts that are part of the contract. Any other text of the reference's is its own wording: a trace then says only that there
// was a text, and which names it mentions.
const QUOTED = [
  /^unknown tool ".*"$/,
  /^tool ".*" requires approval \(not yet supported\)$/,
  /^the user rejected tool ".*"$/,
  /^approval for tool ".*" was cancelled$/,
  /^unreachable variant in ApprovalOutcome: ".*"$/,
  /^tool call aborted( before dispatch)?$/,
  /^tool execution arguments must be losslessly JSON-serializable$/,
  /^tool result must be losslessly JSON-serializable$/,
  /^tool result blocked by post-execute policy$/,
  /^<unprintable thrown value>$/,
  /^tool call timed out after \d+ms$/,
  /^tool ".*" \(.*\): tools\/result observer failed: /,
  /^tool ".*" timeoutMs must be a positive finite number$/,
  /^defineTool\(.*\): timeoutMs must be a positive finite number$/,
  /^tool ".*" is already registered in this scope$/,
  /^maxParallelSubCalls must be a positive integer$/,
  /^dsh-scope: scope parent link would form a cycle$/,
  /^code run failed \(\w+\): /,
  /^invalid description: expected a non-empty string$/,
  /^run_code run is over \(…\); .* (not dispatched|result discarded|tool call abandoned)$/,
  /^\(run_code completed with no output\)$/,
]
const LISTS = [/^invalid arguments: /, /^tool ".*" returned invalid output: /, /^unsupported JSON schema: /]
const VIOLATIONS = [
  /^"[^"]*" must be (a string|a boolean|null|an object|an array|a number|a finite JSON number|an integer)$/,
  /^"[^"]*" must be (one of \[.*\]|[^ ]+)$/,
  /^missing required property "[^"]*"$/,
  /^"[^"]*" is not a declared property \(additionalProperties: false\)$/,
  /^"[^"]*" must match exactly one oneOf branch \(matched \d+\)$/,
  /^"[^"]*" must be a (lossless JSON object|dense lossless JSON array|lossless JSON value)$/,
  /^value is not lossless JSON$/,
  /^value snapshot failed: /,
  /^output\.(render|presentationMeta) (failed: .*|returned non-lossless JSON)$/,
  /^\S+ (must be a value schema object|must be an object of value schemas|is circular|must be a schema object)$/,
  /^\S+ is not supported by the value schema DSL$/,
  /^\S+ cannot declare both type and oneOf$/,
  /^\S+ must be explicitly true or false$/,
  /^\S+ must be a non-empty array of (scalar|string|number|integer|boolean|null) values$/,
  /^\S+ must be true when present$/,
  /^\S+ annotation must be lossless JSON data$/,
  /^\S+ must be a (string|boolean|\S+ value)$/,
  /^\S+ requires type or oneOf$/,
  /^\S+ is not supported (beside oneOf|on type ".*")$/,
  /^\S+ must be one of object\/array\/string\/number\/integer\/boolean\/null$/,
  /^\S+ must be an (object of schemas|array of strings)$/,
  /^\S+ names ".*" which is not in properties$/,
]

// Names that a text is looked through for, beside those of the script's tools and scopes and what it says in `mentions`.
const TERMS = ['run_code', 'agent.ctx', 'codeRuntime', 'tools/post-execute', 'schema', 'render', 'presentationMeta', 'typescript', 'python', '(none)']

// A rendered value.
function isJson(text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// What the one failing getter of the vocabulary says.
export const GETTER_FAILS = 'the getter fails'

function strings(form, into = new Set()) {
  if (typeof form === 'string') into.add(form)
  else if (form && typeof form === 'object') {
    for (const [key, inner] of Object.entries(form)) {
      into.add(key)
      strings(inner, into)
    }
  }
  return into
}

export class Wording {
  constructor(script) {
    this.authored = strings(script).add(GETTER_FAILS).add('ok').add('[object Object]')
    // Names that a text of the reference may mention.
    this.names = [...new Set([...names(script), ...(script.mentions ?? []), ...TERMS])].filter(Boolean).sort()
  }

  // The text itself, or what can be said of it.
  of(text) {
    if (typeof text !== 'string') return text
    // Why it is over is the text form of an abort's reason, which depends on the language.
    text = text.replace(/^run_code run is over \(.*\);/, 'run_code run is over (…);')
    if (this.isFixed(text)) return text
    if (text.startsWith('Error: ')) {
      const rest = this.of(text.slice(7))
      return typeof rest === 'string' ? text : { after: 'Error: ', ...rest }
    }
    const list = LISTS.find((prefix) => prefix.test(text))
    if (list) {
      const prefix = text.match(list)[0]
      const violations = text.slice(prefix.length).split('; ')
      if (violations.every((one) => VIOLATIONS.some((form) => form.test(one)))) return text
      return { list: prefix, violations: violations.map((one) => (VIOLATIONS.some((form) => form.test(one)) ? one : this.mentions(one))) }
    }
    return this.mentions(text)
  }

  isFixed(text) {
    return this.isAuthored(text) || isJson(text) || QUOTED.some((form) => form.test(text))
  }

  // Lines of the script's own, and those that stand for blocks without a text.
  isAuthored(text) {
    return text.split('\n').every((line) => line === '' || this.authored.has(line) || /^\[[\w-]+ content\]$/.test(line))
  }

  mentions(text) {
    const inside = (name) => new RegExp(`(?<![\\w./'-])${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`).test(text)
    // Paths into a schema name the place, so they are part of what a text must say.
    const paths = text.match(/(?<![\w./'-])(schema|parameters)([.[][\w\]]+)+/g) ?? []
    return { own_words: [...new Set([...this.names.filter(inside), ...paths])].sort() }
  }
}

// The names of tools and agents, and those that a filter lists.
function names(form, into = []) {
  if (Array.isArray(form)) for (const inner of form) names(inner, into)
  else if (form && typeof form === 'object') {
    if (form.op === 'tool') into.push(form.name)
    for (const [key, inner] of Object.entries(form)) {
      if (key === 'tool' && typeof inner === 'string') into.push(inner)
      else if (['allow', 'deny'].includes(key) && Array.isArray(inner)) into.push(...inner.filter((one) => typeof one === 'string'))
      else names(inner, into)
    }
  }
  return into
}

// The blocks of a success are what the script's values were rendered to. Those of a failure can be the reference's own words.
function content(blocks, isError, wording) {
  if (!isError) return blocks
  return blocks.map((block) => (block.type === 'text' ? { ...block, text: wording.of(block.text) } : block))
}

const contextText = (context) => context.content.map((block) => block.text ?? `[${block.type}]`).join('')

export function resultTrace(result, wording) {
  const trace = { isError: result.isError, content: content(result.content, result.isError, wording) }
  if ('value' in result) trace.value = result.value
  if (result.error) trace.error = { message: wording.of(result.error.message), ...result.error.info }
  if ('meta' in result) trace.meta = result.meta
  if (result.additionalContexts) trace.contexts = result.additionalContexts.map(contextText)
  if ('concludesTurn' in result) trace.concludesTurn = result.concludesTurn
  return trace
}

// An error as seen by who called an operation of the registry.
export function errorTrace(error, wording) {
  const trace = { class: error?.name ?? typeof error, message: wording.of(error?.message ?? String(error)) }
  if (typeof error?.code === 'string') trace.code = error.code
  return trace
}

// A session event without what differs between two runs: times, ids of messages, sequence numbers.
export function eventTrace(event, ids, wording) {
  const plain = (value) => {
    if (Array.isArray(value)) return value.map(plain)
    if (value === null || typeof value !== 'object') return value
    if (typeof value.isError === 'boolean') return { ...value, content: content(value.content, value.isError, wording) }
    return Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'id' || typeof value.role !== 'string')
      .map(([key, inner]) => [key, plain(inner)]))
  }
  const trace = { type: event.type, data: plain(event.data) }
  if (event.type.startsWith('approval/') && trace.data.id) trace.data.id = ids(trace.data.id)
  if (event.sourceEventSeqs) trace.sources = event.sourceEventSeqs.map((seq) => ids.seq(seq))
  return trace
}

// Keys in order, so that a trace does not depend on who wrote it.
export function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
}
