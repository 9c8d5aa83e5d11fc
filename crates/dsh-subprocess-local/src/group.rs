//! A process group: a leader that we started, and whatever it starts.
//!
//! **Invariant:** a group whose id may be another's is not signalled. As long as the leader is not reaped the id is its own.
//! Once it is, no process gets that id while the group has members; so if a process has it, the group is gone.
//!
//! **Lock order:** `leader` is taken alone.

use std::future::{Future, poll_fn};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, ready};
use std::time::Duration;

use dsh_subprocess::{Exit, WaitError};
use parking_lot::Mutex;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, test_kill_process,
    test_kill_process_group, waitid, waitpgid,
};
use tokio::process::Child;

use crate::mark::Mark;
use crate::system::Looks;

/// How soon is looked again whether a group that was told to end has ended: at first, and at last.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// A process group. Killed when it is dropped before its leader has ended.
pub(crate) struct Group {
    id: Pid,
    mark: Mark,
    leader: Mutex<Leader>,
    /// The leader was told to end before it had ended. Written with `leader`.
    is_told: AtomicBool,
}

/// Who leads a group.
enum Leader {
    /// It may have ended, and is not reaped.
    Here(Child),
    /// It was reaped.
    Reaped(Result<Exit, WaitError>),
}

impl Group {
    pub(crate) fn new(id: Pid, mark: Mark, leader: Child) -> Self {
        Self { id, mark, leader: Mutex::new(Leader::Here(leader)), is_told: AtomicBool::new(false) }
    }

    pub(crate) fn id(&self) -> Pid {
        self.id
    }

    pub(crate) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// How the leader ended. It is reaped under the lock, so that no signal can meet an id that was given back.
    pub(crate) fn reaped(&self) -> impl Future<Output = Result<Exit, WaitError>> {
        poll_fn(|cx| {
            let mut leader = self.leader.lock();
            let exit = match &mut *leader {
                // The future holds no state of its own: the child keeps what wakes us.
                Leader::Here(child) => self.exit(ready!(pin!(child.wait()).poll(cx))),
                Leader::Reaped(exit) => return Poll::Ready(exit.clone()),
            };
            *leader = Leader::Reaped(exit.clone());
            Poll::Ready(exit)
        })
    }

    /// How the leader ended, if it has, be it reaped or not.
    pub(crate) fn try_exited(&self) -> Option<Result<Exit, WaitError>> {
        match &*self.leader.lock() {
            Leader::Here(_) => exit_of(self.id).map(Ok),
            Leader::Reaped(exit) => Some(exit.clone()),
        }
    }

    /// Whether the leader was told to end, or killed, before it had ended.
    pub(crate) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Acquire)
    }

    /// Tells the group to end, also what is stopped, unless its leader has ended. Whether it had not.
    pub(crate) fn tell(&self) -> bool {
        self.signal_if_runs(&[Signal::TERM, Signal::CONT])
    }

    /// Kills the group unless its leader has ended. Whether it had not.
    pub(crate) fn kill_if_runs(&self) -> bool {
        self.signal_if_runs(&[Signal::KILL])
    }

    /// Tells the group to end, or what is left of it, also what is stopped.
    pub(crate) fn terminate(&self) {
        self.signal(&[Signal::TERM, Signal::CONT]);
    }

    pub(crate) fn kill(&self) {
        self.signal(&[Signal::KILL]);
    }

    /// Whether nothing is left of it. What we have become the parent of is reaped.
    pub(crate) fn is_gone(&self) -> bool {
        let leader = self.leader.lock();
        if leader.is_here() {
            return false;
        }
        if has_process(self.id) {
            return true;
        }
        while let Ok(Some(_)) = waitpgid(self.id, WaitOptions::NOHANG) {}
        test_kill_process_group(self.id) == Err(rustix::io::Errno::SRCH)
    }

    /// Whether the leader runs is decided once, under the lock under which it is reaped.
    fn signal_if_runs(&self, signals: &[Signal]) -> bool {
        let leader = self.leader.lock();
        let runs = leader.is_here() && exit_of(self.id).is_none();
        if runs {
            self.is_told.store(true, Ordering::Release);
            for signal in signals {
                let _ = kill_process_group(self.id, *signal);
            }
        }
        runs
    }

    /// A group without members is fine.
    fn signal(&self, signals: &[Signal]) {
        let leader = self.leader.lock();
        if leader.is_here() || !has_process(self.id) {
            for signal in signals {
                let _ = kill_process_group(self.id, *signal);
            }
        }
    }

    fn exit(&self, status: io::Result<ExitStatus>) -> Result<Exit, WaitError> {
        let id = self.id.as_raw_nonzero().get().cast_unsigned();
        let status = status.map_err(|error| WaitError { id, source: Arc::new(error) })?;
        Ok(Exit { code: status.code(), signal: status.signal() })
    }
}

impl Leader {
    fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.leader.get_mut().is_here() {
            let _ = kill_process_group(self.id, Signal::KILL);
        }
    }
}

/// How a child ended, if it has and is not reaped. It stays so.
fn exit_of(child: Pid) -> Option<Exit> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let status = waitid(WaitId::Pid(child), options).ok().flatten()?;
    let code = status.exit_status();
    Some(Exit { code, signal: status.terminating_signal() })
}

/// Waits until nothing of the groups runs. What has ended and is not reaped, which is up to the first process of the system,
/// does not count where that can be seen.
pub(crate) async fn all_ended(mut groups: Vec<&Group>, looks: &Looks) {
    let (mut pause, longest) = LOOKS;
    loop {
        groups.retain(|group| !group.is_gone());
        if groups.is_empty() {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = longest.min(pause * 2);
        groups.retain(|group| !group.is_gone());
        if !groups.is_empty()
            && let Some(Some(living)) = looks.ask(()).await
        {
            groups.retain(|group| living.contains(&group.id()));
        }
    }
}

fn has_process(id: Pid) -> bool {
    test_kill_process(id) != Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use std::os::unix::process::ExitStatusExt;

    use rustix::process::Pid;
    use tokio::process::Command;

    use super::Group;
    use crate::mark::Nonce;

    // spec: fs-shell-sandbox/F91
    #[tokio::test]
    async fn a_group_whose_id_is_anothers_is_gone_and_not_signalled() {
        let mut stranger = Command::new("sleep").arg("300").process_group(0).spawn().unwrap();
        let id = Pid::from_raw(stranger.id().unwrap().cast_signed()).unwrap();
        // As if the stranger had got the leader's id.
        let leader = Command::new("true").spawn().unwrap();
        let group = Group::new(id, Nonce::new().mark(0), leader);
        assert!(group.reaped().await.unwrap().code == Some(0));
        assert!(group.is_gone());
        group.terminate();
        group.kill();
        drop(group);
        // Of two signals the first one is told of.
        stranger.start_kill().unwrap();
        assert_eq!(stranger.wait().await.unwrap().signal(), Some(9));
    }

    #[tokio::test]
    async fn a_group_that_is_dropped_while_it_is_led_is_killed() {
        let leader = Command::new("sleep").arg("300").process_group(0).spawn().unwrap();
        let id = Pid::from_raw(leader.id().unwrap().cast_signed()).unwrap();
        drop(Group::new(id, Nonce::new().mark(0), leader));
        while super::has_process(id) {
            // The runtime reaps what was dropped when it hears of a child's end.
            tokio::time::sleep(super::LOOKS.0).await;
        }
    }
}
