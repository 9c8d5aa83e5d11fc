//! The mark that every process is given in its environment, by which what left its group is found again.
//!
//! Found are processes whose environment can be read, which is so on Linux for those of the same user, and the groups that they
//! lead. One that was started with an empty environment is not found once it has left its group.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::process::{WaitId, WaitIdOptions, waitid};
use uuid::Uuid;

use crate::batch::Batch;

/// The variable with the mark.
pub(crate) const VARIABLE: &str = "DSH_PROCESS_GROUP";

/// What marks the processes of one provider.
#[derive(Clone, Debug)]
pub(crate) struct Nonce(String);

/// What marks a process and all that it starts.
#[derive(Clone, Debug)]
pub(crate) struct Mark(String);

/// How long is looked at most: a process that is killed shows for a moment.
#[cfg(target_os = "linux")]
const LOOKING: Duration = Duration::from_secs(2);
/// How often in a row nothing must be found: a program that is just being started shows no environment.
#[cfg(target_os = "linux")]
const CLEAN_LOOKS: usize = 2;
/// How long what was killed may take until it can be reaped, and how soon that is looked for again.
#[cfg(target_os = "linux")]
const REAPED: Duration = Duration::from_millis(100);
#[cfg(target_os = "linux")]
const REAPING: Duration = Duration::from_millis(1);
/// How long is waited between two looks.
#[cfg(target_os = "linux")]
const PAUSE: Duration = Duration::from_millis(5);

impl Nonce {
    pub(crate) fn new() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    pub(crate) fn mark(&self, number: u64) -> Mark {
        Mark(format!("{}-{number}", self.0))
    }

    /// How each environment with a mark of this provider begins where the mark is.
    pub(crate) fn in_environment(&self) -> String {
        format!("{VARIABLE}={}-", self.0)
    }

    /// Kills every process with a mark of this provider, and waits for a bounded time until there is none. Blocks.
    ///
    /// # Errors
    /// They cannot be looked for, or some do not go.
    pub(crate) fn kill_all(&self) -> io::Result<()> {
        let start = format!("{}-", self.0);
        kill_where(|value| value.starts_with(start.as_bytes()))
    }
}

impl Mark {
    pub(crate) fn value(&self) -> &OsStr {
        OsStr::from_bytes(self.0.as_bytes())
    }

    /// As [`Kills`] does, for this one alone. Blocks.
    pub(crate) fn kill_all(&self) {
        kill_marked(std::slice::from_ref(self));
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Kills the processes with some marks, once for all who want that.
pub(crate) type Kills = Batch<Mark, ()>;

/// See [`Kills`].
pub(crate) fn kills() -> Kills {
    Batch::new(kill_marked)
}

/// What cannot be done is reported: the end of the provider tries it again.
fn kill_marked(marks: &[Mark]) {
    let values: HashSet<&[u8]> = marks.iter().map(|mark| mark.0.as_bytes()).collect();
    if let Err(error) = kill_where(|value| values.contains(value)) {
        tracing::warn!(%error, "what has left its process group may live on until the provider ends");
    }
}

/// Kills every process whose mark `is_meant`, and waits for a bounded time until there is none.
#[cfg(target_os = "linux")]
fn kill_where(is_meant: impl Fn(&[u8]) -> bool) -> io::Result<()> {
    let (start, mut clean) = (Instant::now(), 0);
    loop {
        let last = kill_once(&is_meant);
        // A look that failed has not found that there is none.
        clean = if matches!(last, Ok(false)) { clean + 1 } else { 0 };
        if clean == CLEAN_LOOKS {
            return Ok(());
        }
        if start.elapsed() > LOOKING {
            return last.and(Err(io::Error::other("some processes do not go")));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether there was one.
#[cfg(target_os = "linux")]
fn kill_once(is_meant: &impl Fn(&[u8]) -> bool) -> io::Result<bool> {
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, Signal, getpid, kill_process_group, pidfd_open, pidfd_send_signal};

    let is_marked = |id| -> io::Result<bool> {
        let environment = crate::system::told_of(id, "environ")?.unwrap_or_default();
        Ok(environment.split(|byte| *byte == 0).filter_map(mark_in).any(is_meant))
    };
    let mut found = false;
    for id in crate::system::processes()?.into_iter().filter(|id| *id != getpid()) {
        if !is_marked(id)? {
            continue;
        }
        let process = match pidfd_open(id, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(Errno::SRCH | Errno::NOSYS | Errno::PERM) => continue,
            Err(error) => return Err(error.into()),
        };
        // Read once more: now whatever has the id later, the signal goes to the process whose mark this is.
        if is_marked(id)? {
            // If it leads a group, that has its id, and is ours too.
            let _ = kill_process_group(id, Signal::KILL);
            found |= pidfd_send_signal(&process, Signal::KILL).is_ok();
            reap(&process);
        }
    }
    Ok(found)
}

/// Reaps what was killed if it is our child: by adoption, or because its start was given up half way.
#[cfg(target_os = "linux")]
fn reap(process: &impl AsFd) {
    let start = Instant::now();
    while start.elapsed() < REAPED {
        match waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(None) => std::thread::sleep(REAPING),
            Ok(Some(_)) | Err(_) => return,
        }
    }
}

/// The mark in a variable that is one.
#[cfg(target_os = "linux")]
fn mark_in(variable: &[u8]) -> Option<&[u8]> {
    variable.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"=")
}

#[cfg(not(target_os = "linux"))]
fn kill_where(_is_meant: impl Fn(&[u8]) -> bool) -> io::Result<()> {
    Ok(())
}
