//! Threads for bodies that block: few, made when they are needed, and never waited for beyond a call's grace time.
//!
//! **Invariants**
//! 1. A job is begun by one thread or dropped by its call, never both: [`Link::begin`] and [`Link::withdraw`] exclude each other.
//! 2. There are never more than `max` threads, those of bodies that were let go included.
//! 3. Nothing waits for threads that are all held by bodies which do not stop: it is refused instead.
//! 4. No lock is held while a job runs or is dropped.
//!
//! **Lock order:** none; a link's lock and the pool's are never held together.

mod job;

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;
use tokio::time::Instant;

pub(crate) use job::{Job, Link, NotBegun};

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

/// A bounded set of threads.
pub(crate) struct Threads {
    pool: Arc<Pool>,
}

/// What threads are there, and what they have to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) threads: usize,
    pub(crate) idle: usize,
    /// How many jobs wait for one.
    pub(crate) waiting: usize,
}

/// Why there is no thread for a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NoThread {
    /// How many bodies that do not stop hold a thread each: all of them.
    pub(crate) held: usize,
    /// The tools of those bodies, sorted.
    pub(crate) tools: Vec<String>,
    /// What the system said when it gave no further thread.
    pub(crate) refused: Option<String>,
}

struct Pool {
    max: usize,
    spawn: Spawn,
    state: Mutex<State>,
    work: Condvar,
}

/// Makes a thread that [serves](Pool::serve) the pool.
type Spawn = fn(Arc<Pool>) -> io::Result<()>;

#[derive(Default)]
struct State {
    /// What waits, oldest first.
    queue: BTreeMap<u64, Queued>,
    next: u64,
    threads: usize,
    idle: usize,
    /// How many were asked for and have not come to the queue yet.
    starting: usize,
    /// What the threads run.
    running: BTreeMap<u64, Running>,
    closed: bool,
}

struct Queued {
    tool: String,
    work: Work,
}

/// Is told to begin, or why it does not.
type Work = Box<dyn FnOnce(Result<(), NoThread>) + Send>;

struct Running {
    tool: String,
    hold: Hold,
}

/// Whether a thread can be counted on.
#[derive(Clone, Copy)]
enum Hold {
    /// Its call waits for it.
    Awaited,
    /// Its call was dropped at that time, and told it to stop.
    Left(Instant),
    /// It was told to stop and did not.
    LetGo,
}

impl Threads {
    pub(crate) fn new(max: usize) -> Self {
        Self::spawned_by(max, spawn)
    }

    fn spawned_by(max: usize, spawn: Spawn) -> Self {
        let pool = Pool { max: max.max(1), spawn, state: Mutex::default(), work: Condvar::new() };
        Self { pool: Arc::new(pool) }
    }

    /// Has `work` for this tool done by a thread when one is free, unless it is withdrawn or cancelled before.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        tool: &str,
        link: Arc<Link>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Job<T> {
        let (send, result) = oneshot::channel();
        let of_job = Arc::clone(&link);
        let work: Work = Box::new(move |turn| {
            let begins = turn.map_err(NotBegun::NoThread).and_then(|()| match of_job.begin() {
                true => Ok(()),
                false => Err(NotBegun::Cancelled),
            });
            let given = match begins {
                Ok(()) => Ok(work()),
                Err(why) => {
                    contained(|| drop(work));
                    Err(why)
                }
            };
            of_job.end();
            let _ = send.send(given);
        });
        let place = self.pool.submit(Queued { tool: tool.to_owned(), work });
        Job { result, place, pool: Arc::clone(&self.pool), link }
    }

    /// How many threads there are, how many of them have no work, and how much work waits.
    pub(crate) fn count(&self) -> Count {
        let state = self.pool.state.lock();
        Count { threads: state.threads, idle: state.idle, waiting: state.queue.len() }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.pool.state.lock().closed = true;
        self.pool.work.notify_all();
    }
}

impl State {
    /// Whether more waits than threads will come to at once.
    fn is_short(&self) -> bool {
        self.queue.len() > self.idle + self.starting
    }

    /// Takes out all that waits, if no thread there is will come to it.
    fn stranded(&mut self, refused: Option<String>) -> Option<(NoThread, BTreeMap<u64, Queued>)> {
        let stuck = || self.running.values().filter(|running| matches!(running.hold, Hold::LetGo));
        let held = stuck().count();
        if self.queue.is_empty() || held < self.threads {
            return None;
        }
        let mut tools: Vec<String> = stuck().map(|running| running.tool.clone()).collect();
        tools.sort_unstable();
        tools.dedup();
        Some((NoThread { held, tools, refused }, std::mem::take(&mut self.queue)))
    }
}

impl Pool {
    fn submit(self: &Arc<Self>, queued: Queued) -> u64 {
        let place = {
            let mut state = self.state.lock();
            let place = state.next;
            state.next += 1;
            state.queue.insert(place, queued);
            place
        };
        self.supply();
        place
    }

    /// Sees to it that what waits has a thread to wait for; what has none, and gets none, is refused.
    fn supply(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if !state.is_short() {
            drop(state);
            self.work.notify_one();
            return;
        }
        let mut refused = None;
        if state.threads < self.max {
            state.threads += 1;
            state.starting += 1;
            drop(state);
            let Err(error) = (self.spawn)(Arc::clone(self)) else { return };
            tracing::warn!(%error, "the system gives no thread for a tool's body");
            refused = Some(error.to_string());
            state = self.state.lock();
            state.threads -= 1;
            state.starting -= 1;
        }
        let stranded = state.stranded(refused);
        drop(state);
        let Some((why, stranded)) = stranded else { return };
        for Queued { work, .. } in stranded.into_values() {
            // It is another call's, and what it holds may panic when it is dropped.
            contained(|| work(Err(why.clone())));
        }
    }

    fn withdraw(&self, place: u64) {
        let withdrawn = self.state.lock().queue.remove(&place);
        contained(|| drop(withdrawn));
    }

    /// Whether a job waits and all threads have other work.
    fn is_short_of(&self, place: u64) -> bool {
        let state = self.state.lock();
        state.is_short() && state.queue.contains_key(&place)
    }

    /// The call of a job gives up on it: it was told to stop and did not.
    fn let_go(self: &Arc<Self>, place: u64) {
        {
            let mut state = self.state.lock();
            let Some(running) = state.running.get_mut(&place) else { return };
            running.hold = Hold::LetGo;
            if state.queue.is_empty() {
                return;
            }
        }
        self.supply();
    }

    /// The call of a job was dropped; the job was told to stop.
    fn leave(&self, place: u64) {
        let mut state = self.state.lock();
        if let Some(running) = state.running.get_mut(&place)
            && matches!(running.hold, Hold::Awaited)
        {
            running.hold = Hold::Left(Instant::now());
        }
    }

    /// Lets go of jobs whose calls were dropped and that have had this much time to stop since.
    fn let_go_of_left(self: &Arc<Self>, grace: Duration) {
        let any = {
            let mut state = self.state.lock();
            let left = state
                .running
                .values_mut()
                .filter(|running| matches!(running.hold, Hold::Left(since) if since.elapsed() >= grace));
            left.map(|running| running.hold = Hold::LetGo).count() > 0
        };
        if any {
            self.supply();
        }
    }

    fn serve(&self) {
        let mut state = self.state.lock();
        state.starting -= 1;
        loop {
            if let Some((place, Queued { tool, work })) = state.queue.pop_first() {
                state.running.insert(place, Running { tool, hold: Hold::Awaited });
                drop(state);
                // A body's panic is contained where it is called; this is for what is dropped with it.
                contained(|| work(Ok(())));
                state = self.state.lock();
                state.running.remove(&place);
                continue;
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let timed_out = self.work.wait_for(&mut state, IDLE).timed_out();
            state.idle -= 1;
            if timed_out && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }
}

fn spawn(pool: Arc<Pool>) -> io::Result<()> {
    std::thread::Builder::new().name("tool-body".to_owned()).spawn(move || pool.serve()).map(drop)
}

/// Does what may drop things of a user's, whose panic is told and goes no further.
fn contained(act: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(act)).is_err() {
        tracing::error!("something that a tool's body held panicked when it was dropped");
    }
}

#[cfg(test)]
mod tests;
