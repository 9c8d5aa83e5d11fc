//! What a provider has started and answers for.
//!
//! **Invariant:** what runs is in the table before its start is told to anyone, and stays until nothing is left of its group.
//!
//! **Lock order:** `state`, then a group's or the watchdog's, so that the watchdog hears of a group's end before another gets
//! its id.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::Pid;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::config::Config;
use crate::group::{Group, all_ended};
use crate::mark::{Kills, Mark, Nonce, kills};
use crate::spill::SpillFolder;
use crate::system::{Looks, looks};
use crate::watchdog::{Rest, Watchdog};

/// How long what was killed may take until it is gone.
pub(crate) const KILLED: Duration = Duration::from_secs(2);

/// How many groups may be left without a closer look.
const FEW: usize = 32;
/// How long ago fewer may have been looked at.
const LATELY: Duration = Duration::from_secs(10);

/// All that a provider answers for. Killed when it is dropped.
pub(crate) struct Table {
    pub(crate) watchdog: Arc<Watchdog>,
    pub(crate) spills: SpillFolder,
    pub(crate) kills: Kills,
    looks: Looks,
    /// The tasks of processes.
    pub(crate) tasks: TaskTracker,
    starting: TaskTracker,
    nonce: Nonce,
    numbers: AtomicU64,
    state: Mutex<State>,
}

struct State {
    has_ended: bool,
    /// By number.
    running: BTreeMap<u64, Arc<Started>>,
    /// Those whose leader was reaped, and of whose group something is left, by the group's id. Some may have ended since.
    left: HashMap<Pid, Arc<Started>>,
    looking: Looking,
}

/// When it is looked which of those that are left are gone. Nobody is told of their end.
struct Looking {
    is_going_on: bool,
    last: Instant,
    /// With more left than so many it is looked whether they run: those that have ended and that nobody reaps would become ever
    /// more.
    many: usize,
}

/// A process that was started, and what it is told.
pub(crate) struct Started {
    pub(crate) number: u64,
    pub(crate) group: Group,
    /// It was told to end before it had ended.
    pub(crate) told: CancellationToken,
    /// It was killed.
    pub(crate) killed: CancellationToken,
}

impl Table {
    pub(crate) fn new(config: &Config) -> Self {
        let nonce = Nonce::new();
        let watchdog = Arc::new(Watchdog::new(nonce.clone()));
        let looking = Looking { is_going_on: false, last: Instant::now(), many: FEW };
        let (running, left) = (BTreeMap::new(), HashMap::new());
        Self {
            spills: SpillFolder::new(config, Arc::clone(&watchdog)),
            watchdog,
            kills: kills(),
            looks: looks(),
            tasks: TaskTracker::new(),
            starting: TaskTracker::new(),
            nonce,
            numbers: AtomicU64::new(0),
            state: Mutex::new(State { has_ended: false, running, left, looking }),
        }
    }

    /// What is held while a process is started; none once the table has ended.
    pub(crate) fn starting(&self) -> Option<TaskTrackerToken> {
        let state = self.state.lock();
        (!state.has_ended).then(|| self.starting.token())
    }

    /// The number of the next process, and its mark.
    pub(crate) fn next(&self) -> (u64, Mark) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        (number, self.nonce.mark(number))
    }

    /// Answers for a process from now on.
    pub(crate) fn add(&self, started: Arc<Started>) {
        let id = started.group.id();
        let mut state = self.state.lock();
        // No process gets the id of a group that is not gone.
        let gone = state.left.remove(&id);
        state.running.insert(started.number, started);
        self.watchdog.began(id);
        drop(state);
        drop(gone);
    }

    /// The process was reaped. Of what it has left behind the table keeps hold.
    pub(crate) fn reaped(&self, started: &Arc<Started>) {
        let id = started.group.id();
        let mut state = self.state.lock();
        if state.running.remove(&started.number).is_none() {
            return;
        }
        if started.group.is_gone() {
            self.watchdog.gone(id);
            return;
        }
        state.left.insert(id, Arc::clone(started));
        self.watchdog.left(id);
        if state.has_ended {
            started.group.terminate();
        }
    }

    /// Waits for a bounded time until nothing of a group runs that was killed, and forgets it.
    pub(crate) async fn killed(&self, started: &Arc<Started>) {
        let _ = timeout(KILLED, all_ended(vec![&started.group], &self.looks)).await;
        if started.group.is_gone() {
            self.forget(std::slice::from_ref(started));
        }
    }

    /// Forgets those groups of which nothing is left, if it is time to look.
    pub(crate) async fn prune(&self) {
        let Some((left, are_many)) = self.to_look_at() else { return };
        let (mut gone, here): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|started| started.group.is_gone());
        if are_many
            && let Some(Some(living)) = self.looks.ask(()).await
            // A look passes by what starts another and ends meanwhile, but hardly twice.
            && let Some(Some(still)) = self.looks.ask(()).await
        {
            let lives = |id| living.contains(&id) || still.contains(&id);
            gone.extend(here.into_iter().filter(|started| !lives(started.group.id())));
        }
        self.forget(&gone);
        let mut state = self.state.lock();
        let many = state.left.len() * 2 + FEW;
        state.looking = Looking { is_going_on: false, last: Instant::now(), many };
    }

    /// Those that are left, if it is time to look at them, and whether they are many.
    fn to_look_at(&self) -> Option<(Vec<Arc<Started>>, bool)> {
        let mut state = self.state.lock();
        let Looking { is_going_on, last, many } = &state.looking;
        let (count, are_many) = (state.left.len(), state.left.len() > *many);
        let is_time = are_many || count > 0 && last.elapsed() > LATELY;
        (is_time && !is_going_on).then(|| {
            state.looking.is_going_on = true;
            (state.left.values().cloned().collect(), are_many)
        })
    }

    fn forget(&self, gone: &[Arc<Started>]) {
        let mut state = self.state.lock();
        for started in gone {
            let id = started.group.id();
            // Another may have got the id, and is watched under it.
            if state.left.get(&id).is_some_and(|left| Arc::ptr_eq(left, started)) {
                state.left.remove(&id);
                self.watchdog.gone(id);
            }
        }
    }

    /// Ends all that there is, and waits for it: told to at first, killed after `grace`. Nothing starts any more.
    pub(crate) async fn end(&self, grace: Duration) {
        self.state.lock().has_ended = true;
        self.starting.close();
        self.starting.wait().await;
        self.tasks.close();
        let deadline = Instant::now() + grace;
        let (running, left) = self.all();
        running.iter().for_each(|started| {
            started.terminate();
        });
        left.iter().for_each(|started| started.group.terminate());
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            running.iter().for_each(|started| started.kill());
            let _ = timeout(KILLED, self.tasks.wait()).await;
        }
        let (_, left) = self.all();
        let groups: Vec<&Group> = left.iter().map(|started| &started.group).collect();
        let _ = timeout_at(deadline, all_ended(groups.clone(), &self.looks)).await;
        groups.iter().for_each(|group| group.kill());
        let _ = timeout(KILLED, all_ended(groups, &self.looks)).await;
    }

    /// Ends what has left its group, then what watches, and waits for tasks that have not ended yet.
    pub(crate) async fn clear(self: Arc<Self>) {
        let table = Arc::clone(&self);
        let cleared = spawn_blocking(move || {
            let rest = match table.nonce.kill_all() {
                Ok(()) => Rest::None,
                Err(error) => {
                    tracing::warn!(%error, "what has left its process group is left to the watchdog to kill");
                    Rest::Killed
                }
            };
            table.forget_gone();
            table.watchdog.close(rest);
            table.spills.remove();
        });
        let _ = cleared.await;
        self.tasks.wait().await;
    }

    /// Forgets those groups of which nothing is left.
    fn forget_gone(&self) {
        let (_, mut left) = self.all();
        left.retain(|started| started.group.is_gone());
        self.forget(&left);
    }

    fn all(&self) -> (Vec<Arc<Started>>, Vec<Arc<Started>>) {
        let state = self.state.lock();
        (state.running.values().cloned().collect(), state.left.values().cloned().collect())
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        for started in state.running.values().chain(state.left.values()) {
            started.group.kill();
        }
    }
}

impl Started {
    /// Tells it to end unless it has ended. Whether it had not.
    pub(crate) fn terminate(&self) -> bool {
        let runs = self.group.tell();
        if runs {
            self.told.cancel();
        }
        runs
    }

    /// Kills the group, or what is left of it.
    pub(crate) fn kill(&self) {
        self.killed.cancel();
        self.group.kill();
    }

    /// Kills the group unless its leader has ended.
    pub(crate) fn let_go(&self) {
        if self.group.kill_if_runs() {
            self.killed.cancel();
        }
    }
}

#[cfg(test)]
mod tests;
