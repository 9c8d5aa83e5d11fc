//! The names under which the crate meets others: one service and its two events.

use cordis::{Emit, Key};
use dsh_agent::Agent;

use crate::jobs::Jobs;
use crate::snapshot::JobSnapshot;

/// The jobs that run in the background.
///
/// Source: service `jobs`.
pub const JOBS: Key<dyn Jobs> = Key::new("jobs");

/// A job has ended.
///
/// Dispatched once per job by the provider, after those who wait for it were told and [`CHANGED`] was; scope-filtered by the
/// owner, and of no scope for a job without one. Not dispatched any more once the service is being unloaded. Listeners watch
/// and change nothing; a panic of one is contained. Cancellation plays no part.
///
/// Source: `onJobDone`.
pub const DONE: Emit<JobDone> =
    Emit::new("jobs/done").scoped_by(|done| done.owner.as_ref().map(Agent::scope));

/// What can be seen of an owner's jobs is another now: one was registered (and old ones may have been forgotten for it), is being
/// stopped, has ended, or was removed with its owner.
///
/// Dispatched by the provider after the fact; scope-filtered by the owner, and of no scope for jobs without one. Not dispatched
/// any more once the service is being unloaded, nor for an owner whose last clone is gone. Listeners watch and change nothing; a panic of one is contained.
/// Cancellation plays no part.
///
/// Source: `onJobsChanged`.
pub const CHANGED: Emit<JobsChanged> =
    Emit::new("jobs/changed").scoped_by(|changed| changed.owner.as_ref().map(Agent::scope));

/// A job has ended; see [`DONE`].
#[derive(Clone, Debug)]
pub struct JobDone {
    /// The job as it ended.
    pub job: JobSnapshot,
    /// The agent that it worked for.
    pub owner: Option<Agent>,
}

/// What can be seen of an owner's jobs is another; see [`CHANGED`].
#[derive(Clone, Debug)]
pub struct JobsChanged {
    /// The agent whose jobs they are; none for those of nobody.
    pub owner: Option<Agent>,
}
