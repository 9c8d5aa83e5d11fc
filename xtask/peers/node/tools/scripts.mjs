// Reads the scripts of a file, with what they use of common.json put before their own steps.

import { readFileSync } from 'node:fs'

const common = JSON.parse(readFileSync(new URL('common.json', import.meta.url), 'utf8'))

const KEYS = new Set(['name', 'about', 'spec', 'needs', 'mentions', 'config', 'toolOrder', 'agents', 'approval', 'runtime', 'loop',
  'watch_changes', 'use', 'steps'])

// What only a language without static types can do.
const DYNAMIC = new Set(['$lossy', 'hostile', 'object', 'tamper', 'tamper_arguments', 'accessors'])

function isDynamic(form) {
  if (form === null || typeof form !== 'object') return false
  if (form.throw && Object.hasOwn(form.throw, 'value')) return true
  if (form.output === 'none' || form.output?.render === 'none') return true
  return Object.entries(form).some(([key, inner]) => DYNAMIC.has(key) || isDynamic(inner))
}

export function read(file) {
  const scripts = JSON.parse(readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8'))
  const names = new Set()
  return scripts.map((script) => {
    const complain = (what) => { throw new Error(`${file}: ${script.name}: ${what}`) }
    if (names.has(script.name)) complain('there are two of this name')
    names.add(script.name)
    for (const key of Object.keys(script)) if (!KEYS.has(key)) complain(`no such key: ${key}`)
    if (!script.about || !script.spec?.length) complain('it says neither what it is about nor which behaviours it covers')
    if (isDynamic(script.steps) && !script.needs?.includes('dynamic')) complain('it needs "dynamic"')
    const before = (script.use ?? []).flatMap((name) => common[name] ?? complain(`common.json has no ${name}`))
    return { ...script, steps: [...before, ...script.steps], skip: before.length }
  })
}
