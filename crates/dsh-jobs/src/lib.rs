//! Background jobs: what runs on while an agent works, and who may see and stop it.
//!
//! A producer (a tool that starts a command, for example) hands a job to [`Jobs::start`] and keeps doing the work; the
//! service knows the job's state, who owns it and who waits for it, and ends it when its owner or the service ends.
//!
//! Read `keys`, `snapshot` (what is known of a job), `request` (what a producer hands over), then `jobs`.
//!
//! **Architecture Invariant:** a job ends once. Whatever comes first, its producer's outcome or a failed attempt to stop it at
//! the end of its owner, is what it came to.
//!
//! **Architecture Invariant:** an owner is one live agent, not an id: another agent that has the same session later owns
//! nothing of the first.
//!
//! **Architecture Invariant:** a job is a registration of the plugin that started it. It cannot outlive the plugin, since its
//! work is the plugin's code.

mod error;
mod id;
mod jobs;
mod keys;
mod request;
mod snapshot;

pub use error::{AttachError, JobError, KillError, StartError, WaitError};
pub use id::JobId;
pub use jobs::{JobOutput, Jobs, KillOutcome, KillRequest};
pub use keys::{CHANGED, DONE, JOBS, JobDone, JobsChanged};
pub use request::{JobCancel, JobDoneFuture, JobHooks, JobOutcome, JobRead, JobRequest, JobStart};
pub use snapshot::{JobSnapshot, JobStatus, TerminalStatus};
