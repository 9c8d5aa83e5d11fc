// A stand-in for the headless runner, which always begins a new session: resumes `config.id`, says `config.text`, ends.

export const name = 'headless-resume'
export const inject = ['agents', 'appExit', 'agentDefaultModel', 'sessions']

export function apply(ctx, { id, text }) {
  const run = async () => {
    const { provider, model } = ctx.agentDefaultModel.currentSelection()
    const { agent } = await ctx.agents.resume({ resumeSessionId: id, agentOptions: { provider, model } })
    agent.followup({ id: 'said-after-resume', role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } })
    await agent.whenIdle()
    await ctx.sessions.flush?.(agent.session)
    // The whole text again is the runner's own way of telling; here only the log counts.
    ctx.appExit(0)
  }
  // The services of the profile are mounted beside this plugin, in no order.
  setTimeout(() => run().catch((error) => {
    console.error(`resume: ${error.message}`)
    ctx.appExit(1)
  }), 1000)
}
