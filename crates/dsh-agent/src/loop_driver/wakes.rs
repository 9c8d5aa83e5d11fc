//! What came while an agent worked, and has it begin again.

use std::thread::{self, ThreadId};

use crate::agent::Agent;
use crate::driver::Waiting;

/// Whether to begin again when what goes on has ended.
#[derive(Default)]
pub(super) struct Wakes {
    /// Something came that has to.
    latched: bool,
    /// The messages that woke, and the threads that sent them.
    sent: Vec<(String, ThreadId)>,
    /// Who has cleared what waited.
    cleared_by: Option<ThreadId>,
}

impl Wakes {
    pub(super) fn note(&mut self, id: String, latches: bool) {
        self.latched |= latches;
        self.sent.push((id, thread::current().id()));
    }

    /// What goes on was cancelled; `is_cleared` if nothing waits for that reason.
    pub(super) fn cancelled(&mut self, waiting: Waiting, is_cleared: bool) {
        self.latched &= waiting == Waiting::Keep;
        if is_cleared {
            self.cleared_by = Some(thread::current().id());
        }
    }

    /// Whether something waits that the agent has to begin for.
    ///
    /// What still waits of what woke it before a cancellation cleared everything came right behind that, from another thread. From
    /// the same thread it came from inside: who cancels while a message comes keeps it from waking.
    pub(super) fn begin(&self, agent: &Agent) -> bool {
        let inbox = agent.inbox();
        let is_late = |by: ThreadId| self.sent.iter().any(|(id, from)| *from != by && inbox.waits(id));
        (self.latched && !inbox.is_empty()) || self.cleared_by.is_some_and(is_late)
    }
}
