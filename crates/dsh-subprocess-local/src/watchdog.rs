//! What kills the groups if the host dies in whatever way: a shell that waits for the end of a pipe.
//!
//! The host alone holds the pipe's other end. A child that is being started holds it too until its program runs, so the end of
//! the pipe comes after the start, and a process that was not told of yet is found by its mark, and its group by the process.
//!
//! A thread, the keeper, waits for the shell: one that is stopped is made to go on, one that ends is replaced. Whatever the shell
//! does, telling it something never waits for it.
//!
//! Missed is what was started in the very moment in which the host was killed: on systems without `/proc`, and where the process
//! itself has ended by then and has left behind only processes without its environment.
//!
//! **Invariants**
//! 1. A shell that has not been told `.` ends by killing what it knows of. So one that is given up is killed before its pipe is
//!    closed.
//! 2. The keeper alone reaps the shell, under `state`; so no signal can meet an id that was given back.
//!
//! **Lock order:** `starting`, then `state`. While `starting` is held a shell is started; under `state` nothing blocks.

mod shell;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::process::Pid;

use crate::mark::Nonce;
use crate::watchdog::shell::{Shell, wait_for_end};

/// How long is waited for a shell that has nothing left to do, and for one that is killed.
const ENDS: Duration = Duration::from_secs(1);
/// How long is waited for a shell that kills what is left.
const SWEEPS: Duration = Duration::from_secs(5);
/// How long the keeper waits before it starts a shell once more: at first, and at last. A shell that lasts longer was none that
/// cannot run here.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));

/// Kills the groups that it was told of once the host is gone.
pub(crate) struct Watchdog {
    kept: Arc<Kept>,
}

/// What becomes of what is left when the watchdog is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing is.
    None,
    /// The shell kills it, as if the host had died.
    Killed,
}

/// What the keeper shares with whoever tells the shell something.
struct Kept {
    nonce: Nonce,
    /// Held by whoever starts a shell.
    starting: Mutex<()>,
    state: Mutex<State>,
    /// It is closed, or the keeper leaves.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    groups: BTreeMap<i32, Stage>,
    /// Goes with the host, as a line.
    folder: Vec<u8>,
    shell: Option<Shell>,
    has_keeper: bool,
    is_closed: bool,
}

/// What a group is to the watchdog.
#[derive(Clone, Copy)]
enum Stage {
    /// Its leader was not reaped.
    Led,
    /// Its leader was.
    Left,
}

impl Watchdog {
    pub(crate) fn new(nonce: Nonce) -> Self {
        let (starting, state, changed) = (Mutex::default(), Mutex::default(), Condvar::new());
        Self { kept: Arc::new(Kept { nonce, starting, state, changed }) }
    }

    /// Starts it if it does not run.
    pub(crate) fn ready(&self) -> io::Result<()> {
        if self.kept.state.lock().needs_shell()? { self.kept.start() } else { Ok(()) }
    }

    /// A group began.
    pub(crate) fn began(&self, id: Pid) {
        let mut state = self.kept.state.lock();
        state.groups.insert(id.as_raw_nonzero().get(), Stage::Led);
        state.tell(Stage::Led.line(id.as_raw_nonzero().get()).as_bytes());
    }

    /// A group's leader was reaped, and it still has members.
    pub(crate) fn left(&self, id: Pid) {
        let mut state = self.kept.state.lock();
        state.groups.insert(id.as_raw_nonzero().get(), Stage::Left);
        state.tell(Stage::Left.line(id.as_raw_nonzero().get()).as_bytes());
    }

    /// A group is gone.
    pub(crate) fn gone(&self, id: Pid) {
        let mut state = self.kept.state.lock();
        state.groups.remove(&id.as_raw_nonzero().get());
        state.tell(format!("-{}\n", id.as_raw_nonzero()).as_bytes());
    }

    /// This folder, an absolute path, goes with the host. One whose name cannot be told stays.
    pub(crate) fn owns(&self, folder: &Path) {
        let line = [folder.as_os_str().as_bytes(), b"\n"].concat();
        if line.starts_with(b"/") && line.iter().filter(|byte| **byte == b'\n').count() == 1 {
            let mut state = self.kept.state.lock();
            state.tell(&line);
            state.folder = line;
        }
    }

    /// Ends it, and waits for that for a bounded time. Blocks.
    pub(crate) fn close(&self, rest: Rest) {
        let mut state = self.kept.state.lock();
        state.is_closed = true;
        self.kept.changed.notify_all();
        let limit = match rest {
            Rest::None => ENDS,
            Rest::Killed => SWEEPS,
        };
        if let Some(shell) = &mut state.shell {
            if rest == Rest::None {
                shell.tell(b".\n");
            }
            shell.say_no_more();
        }
        if !self.kept.keeper_leaves(&mut state, limit) {
            tracing::warn!("the watchdog does not end when told to, and is killed");
            if let Some(shell) = &mut state.shell {
                shell.kill();
            }
            self.kept.keeper_leaves(&mut state, ENDS);
        }
    }
}

impl Kept {
    /// Starts a shell if there is none, tells it of all that there is, and has a keeper for it.
    fn start(self: &Arc<Self>) -> io::Result<()> {
        let _starting = self.starting.lock();
        if !self.state.lock().needs_shell()? {
            return Ok(());
        }
        let mut shell = Shell::start(&self.nonce)?;
        let mut state = self.state.lock();
        let kept = if state.is_closed { Ok(()) } else { self.hire(&mut state) };
        if state.is_closed || kept.is_err() {
            drop(state);
            shell.kill();
            shell.reap();
            return kept;
        }
        shell.tell(&state.all());
        state.shell = Some(shell);
        Ok(())
    }

    fn hire(self: &Arc<Self>, state: &mut State) -> io::Result<()> {
        if !state.has_keeper {
            let kept = Arc::clone(self);
            thread::Builder::new().name("dsh-watchdog".to_owned()).spawn(move || kept.keep())?;
            state.has_keeper = true;
        }
        Ok(())
    }

    /// What the keeper does.
    fn keep(self: &Arc<Self>) {
        let (mut pause, longest) = PAUSES;
        loop {
            let start = Instant::now();
            let shell = self.state.lock().shell.as_ref().map(Shell::id);
            if let Some(id) = shell {
                wait_for_end(id);
            }
            let mut state = self.state.lock();
            if let Some(shell) = state.shell.take() {
                shell.reap();
            }
            pause = if start.elapsed() > longest { PAUSES.0 } else { longest.min(pause * 2) };
            self.changed.wait_while_for(&mut state, |state| !state.is_closed, pause);
            if state.is_closed || state.groups.is_empty() {
                state.has_keeper = false;
                self.changed.notify_all();
                return;
            }
            drop(state);
            if let Err(error) = self.start() {
                tracing::warn!(%error, "the watchdog cannot be started again; that is tried until it can be");
            }
        }
    }

    /// Waits until the keeper has nothing to do any more, for a bounded time. Whether that has come.
    fn keeper_leaves(&self, state: &mut MutexGuard<'_, State>, limit: Duration) -> bool {
        !self.changed.wait_while_for(state, |state| state.has_keeper, limit).timed_out()
    }
}

impl State {
    fn needs_shell(&self) -> io::Result<bool> {
        if self.is_closed { Err(io::Error::other("it has ended")) } else { Ok(self.shell.is_none()) }
    }

    /// All that a shell is to know.
    fn all(&self) -> Vec<u8> {
        let groups: String = self.groups.iter().map(|(id, stage)| stage.line(*id)).collect();
        [&self.folder, groups.as_bytes()].concat()
    }

    /// Tells the shell. Another one is told by the keeper.
    fn tell(&mut self, line: &[u8]) {
        if let Some(shell) = &mut self.shell {
            shell.tell(line);
        }
    }
}

impl Stage {
    fn line(self, id: i32) -> String {
        match self {
            Self::Led => format!("+{id}\n"),
            Self::Left => format!("={id}\n"),
        }
    }
}

impl Drop for Watchdog {
    /// Its input ends with this, and it kills what is left. The keeper reaps it.
    fn drop(&mut self) {
        let mut state = self.kept.state.lock();
        state.is_closed = true;
        self.kept.changed.notify_all();
        if let Some(shell) = &mut state.shell {
            shell.say_no_more();
        }
    }
}

#[cfg(test)]
mod tests;
