//! The bridge: what an agent does is told to the hooks of a configuration, and what they answer is done.
//!
//! Both dialects are the same bridge. What one does in its own way is in its [`DialectRules`]; what its configuration looks
//! like is in its [`Grammar`].
//!
//! Read `grammar` with `file`, `left_out` and `exec` (which hooks there are), `moment` and `place` (what a hook is told), `rules` (what dialects do
//! differently), `options`, then `firing` with `turn` (the hooks of one moment run), and the listeners: `sessions`,
//! `prompts`, `tools` with `answered`, `stopping` with `stops`.
//!
//! **Invariants**
//! 1. A hook that fails decides nothing. Only a denial, a question and a rewritten input change anything.
//! 2. Nothing that hooks can forbid is let go on because the plugin was unloaded, or they were cancelled, before they had
//!    answered: the call is denied, the message refused, the result kept from the model. That a turn ends is not let go on.
//! 3. Hooks are not run for arguments that they made themselves.

mod answered;
mod exec;
mod file;
mod firing;
mod grammar;
mod left_out;
mod moment;
mod options;
mod place;
mod prompts;
mod rules;
mod sessions;
mod stopping;
mod stops;
mod tools;
mod turn;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use cordis::{BoxError, Context, Handle};
use dsh_agent::{Agent, CREATED, DISPOSED, PRE_STEP, SESSION_START, SessionStart, TURN_STOPPING};
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_shell::Shell;
use dsh_tools::{POST_EXECUTE, PRE_EXECUTE};

use crate::detached::Detached;
use crate::handler::Handler;
use crate::point::Point;

pub use file::{HookFile, HookFileError, RequiredHooks, handlers_or_warn, read_file, required_handlers};
pub use grammar::Grammar;
pub use left_out::{LEFT_OUT, LeftOut};
pub use moment::{AGENT_TYPE, Moment, ToolUse};
pub use options::{
    BadSummaryLength, BridgeOptions, default_timeout_ms, max_stop_blocks, stderr_summary_max_chars,
};
pub use place::Place;
pub use rules::{DialectRules, Firing};

use answered::BridgeId;
use sessions::Children;
use stops::Stops;

/// How long the hooks that nobody waits for may take to end.
const DRAINING: Duration = Duration::from_secs(30);

/// The hooks of one configuration, for as long as its plugin is loaded.
pub(crate) struct Bridge {
    id: BridgeId,
    ctx: Context,
    shell: Handle<dyn Shell>,
    rules: Arc<dyn DialectRules>,
    handlers: Vec<Arc<Handler>>,
    options: BridgeOptions,
    /// How many hooks were run.
    runs: AtomicU64,
    detached: Detached,
    children: Children,
    stops: Stops,
}

/// Has the hooks run for as long as the context's plugin is loaded: for every agent, or for the one whose context it is.
///
/// When the plugin is unloaded, running hooks are told to end and waited for.
///
/// # Errors
/// The context is inactive.
pub fn mount(
    ctx: &Context,
    shell: Handle<dyn Shell>,
    rules: impl DialectRules,
    handlers: Vec<Handler>,
    options: BridgeOptions,
) -> Result<(), BoxError> {
    if handlers.is_empty() {
        return Ok(());
    }
    let bridge = Arc::new(Bridge {
        id: BridgeId::fresh(),
        ctx: ctx.clone(),
        shell,
        rules: Arc::new(rules),
        handlers: handlers.into_iter().map(Arc::new).collect(),
        options,
        runs: AtomicU64::new(0),
        detached: Detached::new(tokio::runtime::Handle::try_current()?),
        children: Children::live(ctx),
        stops: Stops::default(),
    });
    let draining = bridge.clone();
    // Registered first, so it is undone last: no listener starts another one then.
    ctx.effect("end the hooks that nobody waits for", async move || draining.detached.drain().await)?
        .with_limit(DRAINING);
    listen(ctx, &bridge)?;
    let ending = bridge.detached.token();
    // Undone first: listeners wait for their hooks, and are waited for.
    ctx.effect("tell the hooks to end", async move || ending.cancel())?;
    Ok(())
}

/// Listens where there is a hook to run.
fn listen(ctx: &Context, bridge: &Arc<Bridge>) -> Result<(), BoxError> {
    let has = |point| bridge.handlers.iter().any(|handler| handler.point == point);
    if has(Point::SessionStart) {
        let state = bridge.clone();
        ctx.on(SESSION_START).with(state).run(|bridge: &Arc<Bridge>, start: &SessionStart| {
            bridge.session_starts(start);
        })?;
    }
    let of_children = has(Point::SubagentStart) || has(Point::SubagentStop);
    if of_children {
        let state = bridge.clone();
        ctx.on(CREATED).with(state).run(|bridge: &Arc<Bridge>, agent: &Agent| {
            bridge.agent_created(agent);
            Ok(())
        })?;
    }
    if of_children || has(Point::Stop) {
        let state = bridge.clone();
        ctx.on(DISPOSED)
            .with(state)
            .run(|bridge: &Arc<Bridge>, agent: &Agent| bridge.agent_disposed(agent))?;
    }
    if has(Point::UserPromptSubmit) || has(Point::Stop) {
        ctx.on(PRE_STEP).with(bridge.clone()).run(prompts::before_step)?;
    }
    if has(Point::PreToolUse) {
        ctx.on(PRE_EXECUTE).with(bridge.clone()).run(tools::before_call)?;
    }
    if has(Point::PostToolUse) {
        ctx.on(POST_EXECUTE).with(bridge.clone()).run(tools::after_call)?;
    }
    if has(Point::Stop) {
        ctx.on(TURN_STOPPING).with(bridge.clone()).run(stopping::before_end)?;
    }
    Ok(())
}

impl Bridge {
    fn plugin(&self) -> &'static str {
        self.rules.plugin()
    }

    /// What hooks say to the model, a block for each of them.
    fn context_message(&self, texts: Vec<String>) -> Option<Message> {
        let blocks: Vec<_> = texts.into_iter().map(ContentBlock::text).collect();
        (!blocks.is_empty()).then(|| self.message(blocks))
    }

    fn message(&self, content: Vec<ContentBlock>) -> Message {
        let plugin = self.plugin().to_owned();
        let source = Source::Plugin { plugin, form: None, sections: None, summary: None };
        Message::new(Role::User, content, source)
    }
}
