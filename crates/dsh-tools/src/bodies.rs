//! The bodies of one blocking tool: told to end together, and named in the tool's plugin.
//!
//! A tool that blocks has three effects of its own, newest first: one that tells all bodies to end and waits for none, its
//! lent code, which waits for all of them at once, and a group of names. A body that runs takes one of the group's places, which
//! stay for later bodies; one that was let go has a name of its own there. So a body that outlives the waiting is reported by its
//! name, without a further wait, and a call needs no registration in its plugin.
//!
//! **Invariants**
//! 1. Once the bodies were told to end, none begins.
//! 2. A body that runs has a name; one that is over has none.
//!
//! **Lock order:** none; no two of these locks are held together, and none while a registration is made or undone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cordis::{Context, Effect, Inactive, Lent, LentCall, Refused};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The bodies of one tool that blocks.
pub(crate) struct Bodies {
    tool: String,
    /// Where names are registered.
    names: Context,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stopped: bool,
    next: u64,
    /// What asks each body to end, those included that wait for their thread.
    cancellations: BTreeMap<u64, CancellationToken>,
    /// Places that no body has.
    free: Vec<Lent<()>>,
    places: usize,
}

/// A body that runs, or waits for its thread.
pub(crate) struct RunningBody {
    bodies: Arc<Bodies>,
    number: u64,
    name: Mutex<Name>,
}

enum Name {
    /// It has not begun.
    None,
    Place(Lent<()>, LentCall<()>),
    Own(Effect, LentCall<()>),
    /// It is over.
    Over,
}

/// Held by a body's thread: the body is over when it is dropped.
pub(crate) struct OnThread(Arc<RunningBody>);

impl Bodies {
    /// For a tool that is registered through `ctx`. What is registered there after this is undone before the names.
    pub(crate) fn new(ctx: &Context, tool: &str) -> Result<Arc<Self>, Inactive> {
        let mut names = None;
        ctx.effects("bodies", |inside| {
            names = Some(inside.clone());
            Ok::<_, Inactive>(())
        })?;
        let names = names.unwrap_or_else(|| ctx.clone());
        Ok(Arc::new(Self { tool: tool.to_owned(), names, state: Mutex::default() }))
    }

    /// Has the undoing of `ctx` tell the bodies to end before it undoes what is registered there already.
    pub(crate) fn end_with(self: &Arc<Self>, ctx: &Context) -> Result<(), Inactive> {
        let bodies = Arc::downgrade(self);
        ctx.effect("end of bodies", async move || {
            if let Some(bodies) = bodies.upgrade() {
                bodies.stop();
            }
        })?;
        Ok(())
    }

    fn stop(&self) {
        let told = {
            let mut state = self.state.lock();
            state.stopped = true;
            std::mem::take(&mut state.cancellations)
        };
        told.into_values().for_each(|cancellation| cancellation.cancel());
    }

    /// Counts a body that is about to run; none if the bodies were told to end.
    pub(crate) fn expect(self: &Arc<Self>, cancellation: CancellationToken) -> Option<Arc<RunningBody>> {
        let mut state = self.state.lock();
        if state.stopped {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.cancellations.insert(number, cancellation);
        drop(state);
        let (bodies, name) = (Arc::clone(self), Mutex::new(Name::None));
        Some(Arc::new(RunningBody { bodies, number, name }))
    }

    /// A place that no other body has; none if the plugin is being unloaded.
    fn place(&self) -> Option<Lent<()>> {
        let number = {
            let mut state = self.state.lock();
            if state.stopped {
                return None;
            }
            if let Some(place) = state.free.pop() {
                return Some(place);
            }
            state.places += 1;
            state.places
        };
        self.lend(format!("thread {number} of tool {:?}", self.tool)).ok().map(|(_, place)| place)
    }

    /// A name. Whoever undoes it waits for nothing: who has it at that moment is reported.
    fn lend(&self, label: String) -> Result<(Effect, Lent<()>), Inactive> {
        let (effect, lent) = self.names.lend(label, ())?;
        Ok((effect.with_limit(Duration::ZERO), lent))
    }
}

/// Takes a name, until what this gives is dropped.
fn take(name: &Lent<()>) -> Result<LentCall<()>, Refused> {
    name.start(|()| Box::pin(std::future::pending()))
}

impl RunningBody {
    pub(crate) fn on_thread(self: &Arc<Self>) -> OnThread {
        OnThread(Arc::clone(self))
    }

    /// Names a body that its call gave up on, as that of this call, until it is over. One whose plugin is being unloaded
    /// keeps its place.
    pub(crate) fn let_go(&self, call: &str) {
        let label = format!("body of tool {:?} ({call}), let go", self.bodies.tool);
        let Ok((effect, lent)) = self.bodies.lend(label) else { return };
        let Ok(held) = take(&lent) else { return };
        let before = {
            let mut name = self.name.lock();
            match *name {
                Name::Over => Name::Own(effect, held),
                Name::None | Name::Place(..) | Name::Own(..) => {
                    std::mem::replace(&mut *name, Name::Own(effect, held))
                }
            }
        };
        self.give_back(before);
    }

    fn end(&self) {
        let cancellation = self.bodies.state.lock().cancellations.remove(&self.number);
        drop(cancellation);
        let name = std::mem::replace(&mut *self.name.lock(), Name::Over);
        self.give_back(name);
    }

    fn give_back(&self, name: Name) {
        match name {
            Name::None | Name::Over => {}
            Name::Place(place, held) => {
                drop(held);
                self.bodies.state.lock().free.push(place);
            }
            Name::Own(effect, held) => {
                drop(held);
                effect.cancel();
            }
        }
    }
}

impl OnThread {
    /// The body begins now. False if its plugin is being unloaded: it must not then.
    pub(crate) fn begin(&self) -> bool {
        let Some(place) = self.0.bodies.place() else { return false };
        let Ok(held) = take(&place) else { return false };
        *self.0.name.lock() = Name::Place(place, held);
        true
    }
}

impl Drop for OnThread {
    fn drop(&mut self) {
        self.0.end();
    }
}
