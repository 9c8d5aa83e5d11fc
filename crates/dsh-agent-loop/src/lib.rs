//! The loop: what an agent does from the message that wakes it to the moment when nothing waits.
//!
//! A turn takes what waits, and goes in steps. In each step the prompt is put together, the model asked, and the tools that it calls
//! are run, until it is done. Everything that a model could see is in the session's log before the model sees it, and whatever
//! happens to a turn, its log is closed.
//!
//! Read `turns` (one activity of an agent), `steps` (a turn), `step` (a request and what is answered), `request` (what is asked, and
//! how it gets into the log) with `snapshot`, then `make` and `life` (how agents come and go), `configured` and `service`.
//!
//! The order of events of a step in the log: `step/start`, `user/message`…, `request/header` and `request/context` if they changed,
//! `assistant/chunk`…, `assistant/message`, `tool/call` and `tool/result`…, `step/end`.
//!
//! **Architecture Invariant:** the loop decides nothing that a plugin could decide: what begins a step, which model is asked, whether a
//! failed request is made again, and whether a turn may end are asked of listeners.
//!
//! **Architecture Invariant:** a request is made of the log alone. What is not in the log, the model does not see.
//!
//! **Architecture Invariant:** nothing but this crate knows how turns go. Another loop takes its place by
//! [`Agents::serve`](dsh_agent::Agents::serve); agents, tools and policies do not notice.

mod config;
mod configured;
mod fail;
mod keys;
mod life;
mod make;
mod memory;
mod parts;
mod request;
mod service;
mod snapshot;
mod step;
mod steps;
mod turns;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_agent::{AGENTS, Agent, Agents};
use dsh_llm::{LLM, Llm};
use dsh_prompt::{AssembleContext, SYSTEM_PROMPT, SystemPrompt};
use dsh_session::{SESSIONS, SessionStore};
use dsh_tools::{TOOLS, ToolRuntime};

pub use config::{BadAgents, Config, ConfiguredAgent};
pub use configured::ConfigStartFailed;
pub use keys::{AGENT_LOOP, CONFIG_START_FAILED};
pub use service::AgentLoops;

use make::Maker;
use parts::Parts;

cordis::catalog!(plugin);

/// Makes agents, and drives them.
///
/// It serves [`Agents::create`](dsh_agent::Agents::create) and [`Agents::resume`](dsh_agent::Agents::resume), gives prompts the
/// variables `provider`, `model` and `cwd`, and starts the agents of its configuration. Unloading it cancels what its agents do, waits
/// for it, and ends them.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("agent-loop")
        .needs((AGENTS, SESSIONS, LLM, SYSTEM_PROMPT, TOOLS))
        .provides(AGENT_LOOP)
        .validate(|config: &Config| Ok(config.check()?))
        .run(apply)
}

type Needs = (Handle<Agents>, Handle<SessionStore>, Handle<Llm>, Handle<SystemPrompt>, Handle<ToolRuntime>);

/// What is registered first goes last: agents end while what they work with is still there.
async fn apply(
    ctx: &Context,
    (agents, sessions, llm, prompt, tools): Needs,
    config: &Config,
) -> Result<(), BoxError> {
    let keeper = ctx.plugin(define("agents").run(async |_: &Context, (): (), (): &()| Ok(())), ())?;
    keeper.ready().await?;
    let max_parallel = config.max_parallel_tool_calls;
    let (plugin, keeper) = (ctx.clone(), keeper.context());
    let parts = Parts { ctx: plugin, keeper, agents, sessions, llm, prompt, tools, max_parallel };
    variables(ctx, &parts)?;
    let parts = Arc::new(parts);
    let maker = Maker::new(Arc::clone(&parts));
    let ending = Arc::clone(&maker);
    ctx.effect("agents", async move || ending.close().await)?.with_limit(make::ENDING);
    ctx.provide(AGENT_LOOP, Arc::new(AgentLoops::new(Arc::clone(&maker))))?;
    parts.agents()?.serve(ctx, maker)?;
    configured::start(ctx, &parts, &config.agents)
}

/// What prompts can name of an agent.
fn variables(ctx: &Context, parts: &Parts) -> Result<(), BoxError> {
    let prompt = parts.prompt.get()?;
    let of = |context: &AssembleContext| context.subject::<Agent>();
    prompt.variable(ctx, "provider", move |context| of(context)?.options().provider.clone())?;
    prompt.variable(ctx, "model", move |context| of(context)?.options().model.clone())?;
    prompt.variable(ctx, "cwd", move |context| of(context)?.session().header().cwd.clone())?;
    Ok(())
}
