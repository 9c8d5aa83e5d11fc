// The reference's packages, imported from the node_modules folder in DSH_REFERENCE_MODULES.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export function fail(message) {
  console.error(message)
  process.exit(2)
}

const folder = process.env.DSH_REFERENCE_MODULES
if (!folder) fail('DSH_REFERENCE_MODULES names no node_modules folder; see README.md')
const require = createRequire(join(folder, 'none.cjs'))

// Resolved by path: NODE_PATH does not reach `import`.
const load = (name) => import(pathToFileURL(require.resolve(`@deepseek-ai/${name}`)))

export const { Context } = await load('cordis')
export const scopes = await load('dsh-scope')
export const prompt = await load('dsh-system-prompt')
export const tools = await load('dsh-tools')
export const timeoutPolicy = await load('dsh-tool-call-timeout-policy')
export const llm = await load('dsh-llm')
export const loadLoop = async () => ({
  sessions: await load('dsh-session'),
  agents: await load('dsh-agent'),
  loop: await load('dsh-agent-loop'),
  approval: await load('dsh-user-approval'),
})

// Which versions a run was made with: what the figures and traces are of.
export function versions() {
  return Object.fromEntries(['cordis', 'dsh-tools', 'dsh-agent-loop'].map((name) =>
    [name, require(`@deepseek-ai/${name}/package.json`).version]))
}
