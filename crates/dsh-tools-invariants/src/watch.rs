//! The listeners that see every dispatch of a call before all others do.
//!
//! A listener in front of the watch could end a station without it, and the next one would seem out of place. So whenever a
//! listener is put in front, the watch is put in front of it again, before the next dispatch looks for its listeners.
//!
//! **Invariants**
//! 1. The watch before the last stays registered, for dispatches that found their listeners before the last one came.
//! 2. No lock is held while a listener is registered or taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    stations: Mutex<Stations<CallToken>>,
    fronts: [Front; Station::ALL.len()],
    next: AtomicU64,
    tell: Tell,
}

/// The watch of one station.
#[derive(Default)]
struct Front {
    /// Whether a listener was put in front of it.
    overtaken: AtomicBool,
    /// The last watch, and the one before.
    registered: Mutex<(Option<Effect>, Option<Effect>)>,
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
            self.front(station).overtaken.store(true, Ordering::Release);
        }
    }

    /// An execution comes to a station.
    fn come(&self, call: &ToolCall, station: Station, seen_by: WatchId) -> Result<(), Violation> {
        let come = self.stations.lock().come(call.token(), station, seen_by);
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
            let Some(station) = Station::of(dispatched.event) else { return };
            if watch.front(station).overtaken.swap(false, Ordering::AcqRel) {
                // Inactive: the plugin is being unloaded, and does not judge any more.
                let _ = stand_in_front(watch, station);
            }
        },
    )?;
    Station::ALL.into_iter().try_for_each(|station| stand_in_front(watch, station))
}

fn stand_in_front(watch: &Arc<Watch>, station: Station) -> Result<(), ListenError> {
    let id = WatchId(watch.next.fetch_add(1, Ordering::Relaxed));
    let (ctx, state) = (&watch.ctx, (Arc::clone(watch), id));
    let effect = match station {
        Station::PreExecute => ctx.on(PRE_EXECUTE).prepend().with(state).run(before),
        Station::Execute => ctx.on(EXECUTE).prepend().with(state).run(around),
        Station::PostExecute => ctx.on(POST_EXECUTE).prepend().with(state).run(after),
        Station::Result => ctx.on(RESULT).prepend().with(state).run(told),
    }?;
    let oldest = {
        let mut registered = watch.front(station).registered.lock();
        let last = registered.0.replace(effect);
        std::mem::replace(&mut registered.1, last)
    };
    if let Some(oldest) = oldest {
        oldest.cancel();
    }
    Ok(())
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

async fn after(
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
