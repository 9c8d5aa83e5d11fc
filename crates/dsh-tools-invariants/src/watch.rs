//! The listeners that see every dispatch of a call before all others do.
//!
//! A listener in front of the watch could end a station without it, and the next one would seem out of place. So whenever a
//! listener is put in front, the watch is put in front of it again, before the next dispatch looks for its listeners.
//!
//! **Invariants**
//! 1. A dispatch begins with a watch in front that stays until the thread begins another dispatch of the station: whoever begins
//!    it has looked, and stood in front itself if nobody had yet.
//! 2. No lock is held while a listener is registered or taken back.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use cordis::meta::{Dispatched, Registration};
use cordis::{Context, Effect, Event, ListenError, Next};
use dsh_tools::{
    CallToken, EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, RESULT, Settled, ToolCall,
    ToolOutcome,
};
use parking_lot::Mutex;

use crate::rule::{Rule, Subject, Violation};
use crate::stations::{Station, Stations, WatchId};

/// Who is told of violations besides the trace.
pub(crate) type Tell = Arc<dyn Fn(&Violation) + Send + Sync>;

pub(crate) struct Watch {
    ctx: Context,
    /// An execution whose arguments were replaced is judged again, as another one that has not come to a station yet.
    stations: Mutex<Stations<(CallToken, u32)>>,
    fronts: [Front; Station::ALL.len()],
    next: AtomicU64,
    tell: Tell,
}

/// The watch of one station.
#[derive(Default)]
struct Front {
    /// How often a listener was put in front.
    overtaken: AtomicU64,
    /// The last watch.
    standing: Mutex<Option<Arc<Standing>>>,
}

/// A watch that is registered until nobody needs it any more.
struct Standing {
    /// How often listeners had been put in front before it stood there.
    after: u64,
    effect: Effect,
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.effect.cancel();
    }
}

/// A watch that a dispatch of this thread may be about to meet.
struct Needed {
    watch: Weak<Watch>,
    station: Station,
    /// Held, not used: it ends with the last holder.
    _standing: Arc<Standing>,
}

thread_local! {
    /// The last one of each watch and station.
    static NEEDED: RefCell<Vec<Needed>> = const { RefCell::new(Vec::new()) };
}

impl Station {
    fn event(self) -> &'static str {
        match self {
            Self::PreExecute => PRE_EXECUTE.name(),
            Self::Execute => EXECUTE.name(),
            Self::PostExecute => POST_EXECUTE.name(),
            Self::Result => RESULT.name(),
        }
    }

    fn of(event: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|station| station.event() == event)
    }
}

impl Watch {
    pub(crate) fn new(ctx: &Context, tell: Tell) -> Self {
        let (fronts, next) = (<[Front; 4]>::default(), AtomicU64::new(0));
        Self { ctx: ctx.clone(), stations: Mutex::default(), fronts, next, tell }
    }

    fn front(&self, station: Station) -> &Front {
        &self.fronts[station as usize]
    }

    fn see(&self, registration: &Registration) {
        if registration.prepend
            && registration.fiber != self.ctx.fiber()
            && let Some(station) = Station::of(registration.event)
        {
            self.front(station).overtaken.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// An execution comes to a station.
    fn come(&self, call: &ToolCall, station: Station, seen_by: WatchId) -> Result<(), Violation> {
        let come = self.stations.lock().come((call.token(), call.replacements()), station, seen_by);
        let come = come.and_then(|()| match station {
            Station::Result if call.id().is_empty() || call.name().is_empty() => Err(Rule::Anonymous),
            _ => Ok(()),
        });
        come.map_err(|rule| {
            let subject = Subject::Call { id: call.id().to_owned(), tool: call.name().to_owned() };
            let violation = Violation { subject, rule };
            (self.tell)(&violation);
            violation
        })
    }

    /// As [`come`](Self::come); a violation unwinds through the dispatch, which gives it to the dispatcher as a failure.
    fn pass(&self, call: &ToolCall, station: Station, seen_by: WatchId) {
        if let Err(violation) = self.come(call, station, seen_by) {
            std::panic::resume_unwind(Box::new(violation.to_string()));
        }
    }
}

/// Registers the watch of all stations.
pub(crate) fn mount(watch: &Arc<Watch>) -> Result<(), ListenError> {
    let ctx = &watch.ctx;
    ctx.on(cordis::keys::LISTENER).global().with(Arc::clone(watch)).run(
        |watch: &Arc<Watch>, registration: &Registration| {
            watch.see(registration);
            None
        },
    )?;
    ctx.on(cordis::keys::DISPATCH).global().with(Arc::clone(watch)).run(
        |watch: &Arc<Watch>, dispatched: &Dispatched| {
            if let Some(station) = Station::of(dispatched.event) {
                begin(watch, station);
            }
        },
    )?;
    Station::ALL.into_iter().try_for_each(|station| stand_in_front(watch, station).map(drop))
}

/// A dispatch is about to look for its listeners, on this thread.
fn begin(watch: &Arc<Watch>, station: Station) {
    let front = watch.front(station);
    let overtaken = front.overtaken.load(Ordering::Acquire);
    let standing = front.standing.lock().clone().filter(|standing| standing.after >= overtaken);
    // Inactive: the plugin is being unloaded, and does not judge any more.
    let Some(standing) = standing.or_else(|| stand_in_front(watch, station).ok()) else { return };
    let needed = Needed { watch: Arc::downgrade(watch), station, _standing: standing };
    let done = NEEDED.with_borrow_mut(|all| {
        let (done, mut kept): (Vec<_>, Vec<_>) = all
            .drain(..)
            .partition(|other| other.station == station && other.is_of(watch) || other.is_over());
        kept.push(needed);
        *all = kept;
        done
    });
    drop(done);
}

impl Needed {
    fn is_of(&self, watch: &Arc<Watch>) -> bool {
        std::ptr::eq(self.watch.as_ptr(), Arc::as_ptr(watch))
    }

    fn is_over(&self) -> bool {
        self.watch.strong_count() == 0
    }
}

fn stand_in_front(watch: &Arc<Watch>, station: Station) -> Result<Arc<Standing>, ListenError> {
    let front = watch.front(station);
    let after = front.overtaken.load(Ordering::Acquire);
    let id = WatchId(watch.next.fetch_add(1, Ordering::Relaxed));
    let (ctx, state) = (&watch.ctx, (Arc::clone(watch), id));
    let effect = match station {
        Station::PreExecute => ctx.on(PRE_EXECUTE).prepend().with(state).run(before),
        Station::Execute => ctx.on(EXECUTE).prepend().with(state).run(around),
        Station::PostExecute => ctx.on(POST_EXECUTE).prepend().with(state).run(after_body),
        Station::Result => ctx.on(RESULT).prepend().with(state).run(told),
    }?;
    let standing = Arc::new(Standing { after, effect });
    let old = front.standing.lock().replace(Arc::clone(&standing));
    drop(old);
    Ok(standing)
}

type Seeing = (Arc<Watch>, WatchId);

async fn before(
    (watch, id): &Seeing,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, PreDecision>,
) -> PreDecision {
    watch.pass(call, Station::PreExecute, *id);
    next.run(call).await
}

async fn around(
    (watch, id): &Seeing,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    watch.pass(call, Station::Execute, *id);
    next.run(call).await
}

async fn after_body(
    (watch, id): &Seeing,
    settled: &mut Settled,
    next: Next<'_, Settled, PostDecision>,
) -> PostDecision {
    watch.pass(settled.call(), Station::PostExecute, *id);
    next.run(settled).await
}

/// A dispatch of results has nobody to give a failure to: it is reported.
fn told((watch, id): &Seeing, settled: &Settled) {
    if let Err(violation) = watch.come(settled.call(), Station::Result, *id) {
        watch.ctx.report("tools/result", &violation);
    }
}
