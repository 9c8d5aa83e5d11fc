//! A process group: bash and whatever it starts.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use parking_lot::Mutex;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::process::{ChildStderr, ChildStdout, Command};

use crate::environment;

/// A running bash and its descendants. Killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    child: Box<dyn ChildWrapper>,
    id: Option<Pid>,
}

impl Group {
    pub(crate) fn spawn(command: &str, workdir: &Path) -> io::Result<Self> {
        let mut bash = Command::new("bash");
        bash.arg("-c").arg(command).current_dir(workdir);
        bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        bash.env_clear().envs(environment::inherited()).envs(environment::FIXED);
        // A session is a group too, and one without the user's terminal: no command can write to it or ask on it.
        let child = CommandWrap::from(bash).wrap(ProcessSession).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        Ok(Self { child, id })
    }

    pub(crate) fn take_streams(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout().take(), self.child.stderr().take())
    }

    /// Waits for bash alone. (The group's own `wait` also waits for descendants where they are our children, which
    /// they become in a container whose first process we are.)
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.inner_mut().wait().await
    }

    pub(crate) fn terminate(&self) {
        signal(self.id, Signal::SIGTERM);
    }

    pub(crate) fn kill(&self) {
        signal(self.id, Signal::SIGKILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Groups whose bash has ended but that still have members, such as a server started in the background.
#[derive(Debug, Default)]
pub(crate) struct Leftovers(Mutex<Vec<Pid>>);

impl Leftovers {
    /// Takes a group whose bash has ended, and forgets those that have no members left: their ids may be used again.
    pub(crate) fn keep(&self, mut group: Group) {
        let mut groups = self.0.lock();
        groups.retain(|id| is_alive(*id));
        groups.extend(group.id.take().filter(|id| is_alive(*id)));
    }

    /// Tells what is left to end, and kills what does not within `grace`.
    pub(crate) async fn end(&self, grace: Duration) {
        let mut groups = std::mem::take(&mut *self.0.lock());
        for id in &groups {
            signal(Some(*id), Signal::SIGTERM);
        }
        let deadline = tokio::time::Instant::now() + grace;
        loop {
            groups.retain(|id| is_alive(*id));
            if groups.is_empty() || tokio::time::Instant::now() >= deadline {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for id in groups {
            signal(Some(id), Signal::SIGKILL);
        }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        for id in self.0.get_mut().drain(..) {
            signal(Some(id), Signal::SIGKILL);
        }
    }
}

/// The name of a signal, such as `SIGKILL`.
pub(crate) fn signal_name(number: i32) -> String {
    Signal::try_from(number).map_or_else(|_| format!("SIG{number}"), |signal| signal.as_str().to_owned())
}

/// A group that is gone already is fine.
fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(id) = group {
        let _ = killpg(id, signal);
    }
}

fn is_alive(group: Pid) -> bool {
    killpg(group, None).is_ok()
}
