//! One job: what is shared by those who begin it, wait for it, and end it.

use cordis::{Effect, Fiber, Lent, State};
use dsh_agent::{Agent, AgentId, WeakAgent};
use tokio_util::sync::CancellationToken;

use crate::code::JobCode;

pub(crate) struct Job {
    /// Its number among all jobs that were asked for.
    pub(crate) number: u64,
    pub(crate) owner: Option<Owner>,
    /// The plugin whose code it is.
    pub(crate) producer: Fiber,
    pub(crate) code: Lent<JobCode>,
    /// The registration of the code.
    pub(crate) lending: Effect,
    /// Cancelled when its work has begun, or has failed to.
    pub(crate) begun: CancellationToken,
    /// Cancelled when it has ended and everybody was told, or when its work failed to begin.
    pub(crate) ended: CancellationToken,
}

/// The agent that a job works for. It is the table that holds it, while the job is live.
pub(crate) struct Owner {
    pub(crate) id: AgentId,
    pub(crate) agent: WeakAgent,
}

impl Job {
    pub(crate) fn new(
        number: u64,
        owner: Option<&Agent>,
        producer: Fiber,
        (lending, code): (Effect, Lent<JobCode>),
    ) -> Self {
        let owner = owner.map(|agent| Owner { id: agent.id().clone(), agent: agent.downgrade() });
        let (begun, ended) = (CancellationToken::new(), CancellationToken::new());
        Self { number, owner, producer, code, lending, begun, ended }
    }

    /// Whose it is; none if it is nobody's.
    pub(crate) fn agent(&self) -> Option<&WeakAgent> {
        self.owner.as_ref().map(|owner| &owner.agent)
    }

    /// Whether it ends because its plugin does.
    pub(crate) fn producer_ends(&self) -> bool {
        is_over(self.producer.state())
    }

    /// Whether everything ends.
    pub(crate) fn app_ends(&self) -> bool {
        is_over(self.producer.context().root().fiber().state())
    }

    pub(crate) fn owner_ends(&self) -> bool {
        self.agent().is_some_and(|agent| agent.upgrade().is_none_or(|agent| agent.scope().is_closed()))
    }
}

/// Whether a fiber of this state is not there any more, or goes.
pub(crate) fn is_over(state: State) -> bool {
    match state {
        State::Pending | State::Loading | State::Active => false,
        State::Failed | State::Disposed | State::Unloading => true,
    }
}
