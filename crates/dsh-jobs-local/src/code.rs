//! A producer's side of a job, lent by the producer's plugin.
//!
//! **Invariant:** the producer's code is run here only, as its plugin's own, and with its panics contained.

use std::sync::OnceLock;

use cordis::{BoxError, Lent, LentCall, Refused};
use dsh_jobs::{JobCancel, JobDoneFuture, JobHooks, JobOutcome, JobRead, JobStart};
use parking_lot::Mutex;

/// The code of one job; empty until its work has begun.
#[derive(Default)]
pub(crate) struct JobCode {
    hooks: OnceLock<Hooks>,
}

struct Hooks {
    cancel: JobCancel,
    read_output: Option<JobRead>,
    /// Taken by whoever waits for it.
    done: Mutex<Option<JobDoneFuture>>,
}

/// What came of the work.
pub(crate) type Done = LentCall<Result<JobOutcome, BoxError>>;

impl JobCode {
    /// Begins the work, and says whether it has a stream of output.
    pub(crate) fn begin(code: &Lent<Self>, run: JobStart) -> Result<Result<bool, BoxError>, Refused> {
        code.call(|code| {
            let JobHooks { cancel, done, read_output } = run()?;
            let streams = read_output.is_some();
            let hooks = Hooks { cancel, read_output, done: Mutex::new(Some(done)) };
            // It is begun once.
            drop(code.hooks.set(hooks));
            Ok(streams)
        })
    }

    /// Begins to wait for the end of the work; once.
    pub(crate) fn done(code: &Lent<Self>) -> Result<Done, Refused> {
        code.start(|code| {
            let done = code.hooks.get().and_then(|hooks| hooks.done.lock().take());
            done.unwrap_or_else(|| Box::pin(std::future::pending()))
        })
    }

    pub(crate) fn cancel(code: &Lent<Self>, reason: Option<&str>) -> Result<Result<(), BoxError>, Refused> {
        code.call(|code| code.hooks.get().map_or(Ok(()), |hooks| (hooks.cancel)(reason)))
    }

    /// What the work said since the last time.
    pub(crate) fn read(code: &Lent<Self>) -> Result<String, Refused> {
        code.call(|code| {
            let read = code.hooks.get().and_then(|hooks| hooks.read_output.as_ref());
            read.map_or_else(String::new, |read| read())
        })
    }
}
