//! The listeners.

use std::sync::Arc;

use cordis::{BoxError, Context, Event, Next, ScopeKey};
use dsh_agent::{AGENTS, Agent, CREATED, DISPOSED, INBOX_CLAIMED, InboxClaim, STATUS, StatusChange};
use dsh_llm::{ModelCall, ModelRequest, Outcome, STREAM};
use dsh_session::{SESSIONS, Session};

use crate::lives::Lives;
use crate::request::check_request;
use crate::violation::Violation;

/// Who is told of violations besides those who are refused, and the trace.
pub(crate) type Tell = Arc<dyn Fn(&Violation) + Send + Sync>;

pub(crate) struct Watch {
    ctx: Context,
    lives: Lives,
    tell: Tell,
}

impl Watch {
    pub(crate) fn new(ctx: &Context, tell: Tell) -> Self {
        Self { ctx: ctx.clone(), lives: Lives::default(), tell }
    }

    /// Whether what is of this scope is to be judged here.
    fn judges(&self, scope: Option<&ScopeKey>) -> bool {
        let Some(own) = self.ctx.scope_key() else { return true };
        scope.is_some_and(|scope| scope.chain().contains(own))
    }

    fn told(&self, judged: Result<(), Violation>) -> Result<(), Violation> {
        judged.inspect_err(|violation| (self.tell)(violation))
    }

    /// An event has nobody to give a failure to: it is reported.
    fn reported(&self, event: &str, judged: Result<(), Violation>) {
        if let Err(violation) = self.told(judged) {
            self.ctx.report(event, &violation);
        }
    }

    fn session(&self, id: &str) -> Option<Arc<Session>> {
        self.ctx.get(SESSIONS)?.get().ok()?.get(id)
    }

    fn judge(&self, request: &ModelRequest) -> Result<(), Violation> {
        let everywhere = self.judges(None);
        let Some(id) = &request.session_id else {
            return if everywhere { Err(Violation::NoSession) } else { Ok(()) };
        };
        match self.session(id) {
            Some(session) if self.judges(session.owner()) => check_request(request, &session),
            None if everywhere => Err(Violation::NotLive { session: id.clone() }),
            // Of an agent that somebody else watches, or not of this one.
            Some(_) | None => Ok(()),
        }
    }
}

/// Registers the listeners, and looks for the agents that are there.
pub(crate) fn mount(watch: &Arc<Watch>) -> Result<(), BoxError> {
    let ctx = &watch.ctx;
    // Global: calls of models are of no scope.
    ctx.on(STREAM).global().prepend().with(Arc::clone(watch)).run(ask)?;
    // In front: an agent that another listener refuses is told to be gone all the same.
    ctx.on(CREATED).prepend().with(Arc::clone(watch)).run(|watch: &Arc<Watch>, agent: &Agent| {
        watch.told(watch.lives.comes(agent))?;
        Ok(())
    })?;
    ctx.on(DISPOSED).with(Arc::clone(watch)).run(|watch: &Arc<Watch>, agent: &Agent| {
        watch.reported(DISPOSED.name(), watch.lives.goes(agent));
    })?;
    ctx.on(STATUS).with(Arc::clone(watch)).run(|watch: &Arc<Watch>, change: &StatusChange| {
        watch.reported(STATUS.name(), watch.lives.is(&change.agent, change.status));
    })?;
    ctx.on(INBOX_CLAIMED).with(Arc::clone(watch)).run(|watch: &Arc<Watch>, claim: &InboxClaim| {
        watch.reported(INBOX_CLAIMED.name(), in_turn(claim));
    })?;
    let agents = ctx.get(AGENTS);
    let Some(agents) = agents.as_ref().and_then(|agents| agents.get().ok()) else { return Ok(()) };
    for agent in agents.list() {
        if watch.judges(Some(agent.scope())) {
            watch.lives.was_there(&agent);
        }
    }
    Ok(())
}

async fn ask(watch: &Arc<Watch>, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>) -> Outcome {
    if call.request.is_built_by_loop() {
        watch.told(watch.judge(&call.request))?;
    }
    next.run(call).await
}

fn in_turn(claim: &InboxClaim) -> Result<(), Violation> {
    let open = claim.agent.session().open_turn();
    // One whose number cannot be read is some turn.
    if open.is_some_and(|open| open.number.is_none_or(|number| number == claim.turn)) {
        return Ok(());
    }
    Err(Violation::ClaimedOutsideTurn {
        agent: claim.agent.id().to_string(),
        message: claim.message.id.clone(),
        turn: claim.turn,
    })
}
