//! The hooks that nobody waits for: of sessions that begin, and of agents that work for others.

use std::collections::HashSet;
use std::sync::Arc;

use cordis::{Context, chain};
use dsh_agent::{AGENTS, Agent, InboxError, SessionStart, WeakAgent};
use parking_lot::Mutex;

use crate::bridge::Bridge;
use crate::bridge::moment::{AGENT_TYPE, Moment};
use crate::merge::Merged;
use crate::point::Point;

/// The agents that work for others and have not ended, by the numbers of their scopes.
#[derive(Default)]
pub(crate) struct Children(Mutex<HashSet<u64>>);

impl Children {
    /// Those that are live already, as after the plugin was loaded anew.
    pub(crate) fn live(ctx: &Context) -> Self {
        let Some(agents) = ctx.get(AGENTS) else { return Self::default() };
        let Ok(agents) = agents.get() else { return Self::default() };
        let roots = agents.roots();
        let is_heard = |agent: &Agent| ctx.scope_key().is_none_or(|own| agent.scope().chain().contains(own));
        let children = agents.list().into_iter().filter(|agent| !roots.contains(agent) && is_heard(agent));
        Self(Mutex::new(children.map(|agent| agent.scope().id()).collect()))
    }
}

impl Bridge {
    pub(crate) fn session_starts(self: &Arc<Self>, start: &SessionStart) {
        let source = start.source;
        let what = (Point::SessionStart, source.as_str());
        self.run_aside(&start.agent, what, move |_| Moment::SessionStart { source }, true);
    }

    pub(crate) fn agent_created(self: &Arc<Self>, agent: &Agent) {
        if self.is_child(agent) {
            self.children.0.lock().insert(agent.scope().id());
            let what = (Point::SubagentStart, AGENT_TYPE);
            self.run_aside(agent, what, |agent_id| Moment::SubagentStart { agent_id }, true);
        }
    }

    /// Nobody is left to be told anything.
    pub(crate) fn agent_disposed(self: &Arc<Self>, agent: &Agent) {
        self.stops.forget(agent);
        let was_child = self.children.0.lock().remove(&agent.scope().id());
        if was_child {
            let what = (Point::SubagentStop, AGENT_TYPE);
            self.run_aside(agent, what, |agent_id| Moment::SubagentStop { agent_id }, false);
        }
    }

    /// Whether a live agent is owned by another one.
    fn is_child(&self, agent: &Agent) -> bool {
        let Some(agents) = self.ctx.get(AGENTS) else { return false };
        let Ok(agents) = agents.get() else { return false };
        !agents.roots().contains(agent)
    }

    /// Runs the hooks of a point that are for `subject` without anybody waiting. The agent is not kept alive for it.
    fn run_aside(
        self: &Arc<Self>,
        agent: &Agent,
        (point, subject): (Point, &str),
        moment: impl Fn(&str) -> Moment<'_> + Send + 'static,
        tells: bool,
    ) {
        let hooks = self.hooks(point, subject);
        if hooks.is_empty() {
            return;
        }
        let (id, place) = (agent.id().clone(), self.place_of(Some(agent)));
        let told = agent.downgrade();
        let (bridge, token) = (self.clone(), self.detached.token());
        self.detached.track(async move {
            let fired = bridge.fire(&hooks, &place, None, moment(id.as_str()), &token).await;
            if tells && fired.cut.is_none() {
                bridge.tell(point, &told, fired.merged);
            }
        });
    }

    /// Tells a live agent what hooks said.
    fn tell(&self, point: Point, agent: &WeakAgent, merged: Merged) {
        let Some(message) = self.context_message(merged.additional_contexts) else { return };
        let Some(agent) = agent.upgrade() else { return };
        match agent.inject(Arc::new(message)) {
            Ok(()) | Err(InboxError::Ended { .. }) => {}
            Err(error) => {
                let plugin = self.plugin();
                tracing::warn!("{plugin}: {point} hook failed: {}", chain(&error));
            }
        }
    }
}
