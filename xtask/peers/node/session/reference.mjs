// The reference's session packages, imported from the node_modules folder in DSH_REFERENCE_MODULES,
// and a host with nothing but a session store and its JSONL persistence.

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

const { Context } = await load('cordis')
export const sessions = await load('dsh-session')
const { default: Jsonl } = await load('dsh-session-persistence-jsonl')

// A host over one root. Without `root` it has a store and no persistence.
export async function open(root, config = {}) {
  const ctx = new Context()
  const store = await ctx.plugin(sessions.default, {})
  const fibers = [store]
  if (root !== undefined) fibers.push(await ctx.plugin(Jsonl, { root, ...config }))
  return {
    ctx,
    store: ctx.get('sessions'),
    persistence: ctx.get('sessionPersistence'),
    async close() {
      for (const fiber of fibers.reverse()) await fiber.dispose()
    },
  }
}
