//! Keeps time going on a runtime whose threads are held up.
//!
//! Of a runtime's threads one attends to its timers. When that one runs code that blocks it, the others sleep on and no
//! timer runs out until something wakes them up. So while a step of a teardown is being watched, a thread of its own, one
//! for the process, gives the runtime something to do now and then.

use parking_lot::{Mutex, MutexGuard};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use tokio::runtime::Handle;

/// How late a limit may be noticed where the runtime's own timers are held up.
const PERIOD: Duration = Duration::from_millis(250);
/// How many periods the thread stays after the last watch has ended.
const IDLE: u32 = 40;

/// How many watches run on one runtime of one app.
#[derive(Default)]
pub(crate) struct Watches {
    count: AtomicUsize,
    /// The runtime has been given something that it has not done yet.
    nudged: AtomicBool,
}

/// Ends its watch when dropped.
pub(crate) struct Watching(Arc<Watches>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Relaxed);
    }
}

struct Nudged {
    apps: Vec<(Handle, Arc<Watches>)>,
    running: bool,
}

static NUDGED: Mutex<Nudged> = Mutex::new(Nudged { apps: Vec::new(), running: false });

pub(crate) fn watch(runtime: &Handle, watches: &Arc<Watches>) -> Watching {
    if watches.count.fetch_add(1, Relaxed) == 0 {
        list(runtime, watches);
    }
    Watching(watches.clone())
}

fn list(runtime: &Handle, watches: &Arc<Watches>) {
    let mut nudged = NUDGED.lock();
    if !nudged.apps.iter().any(|(_, known)| Arc::ptr_eq(known, watches)) {
        nudged.apps.push((runtime.clone(), watches.clone()));
    }
    if !nudged.running {
        // Where no thread can be had, timers of the runtime are all there is.
        nudged.running = thread::Builder::new().name("cordis-nudge".into()).spawn(nudge).is_ok();
    }
}

fn nudge() {
    let mut idle = 0;
    let mut nudged = NUDGED.lock();
    loop {
        MutexGuard::unlocked(&mut nudged, || thread::sleep(PERIOD));
        nudged.apps.retain(|(_, watches)| watches.count.load(Relaxed) > 0);
        idle = if nudged.apps.is_empty() { idle + 1 } else { 0 };
        if idle == IDLE {
            nudged.running = false;
            return;
        }
        let apps: Vec<_> = nudged.apps.to_vec();
        MutexGuard::unlocked(&mut nudged, || {
            for (runtime, watches) in apps {
                // One at a time: a runtime that nobody drives would gather them.
                if !watches.nudged.swap(true, Relaxed) {
                    drop(runtime.spawn(async move { watches.nudged.store(false, Relaxed) }));
                }
            }
        });
    }
}
