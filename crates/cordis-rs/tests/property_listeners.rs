//! Random programs of registrations, disposals and dispatches against a plain list, in every mode and at every scope;
//! listeners act while they run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{App, Context, Effect, Scope};
use proptest::prelude::*;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};
use support_events::*;

/// Where something is registered or dispatched: at no scope, or at one of three of which each is below the one before.
type Place = Option<usize>;

/// What a listener does each time it is called, after it has noted its number.
#[derive(Clone, Debug)]
enum Deed {
    Nothing,
    /// Disposes the listener with this number, itself included.
    Dispose(usize),
    /// Registers a listener that does nothing more.
    Register(How, Place),
}

#[derive(Clone, Debug)]
enum Op {
    Register(How, Place, Deed),
    Dispose(usize),
    Dispatch(Place),
}

fn how() -> impl Strategy<Value = How> {
    (any::<bool>(), prop::bool::weighted(0.3), prop::bool::weighted(0.2))
        .prop_map(|(prepend, once, global)| How { prepend, once, global })
}

fn place() -> impl Strategy<Value = Place> {
    prop::option::of(0..3usize)
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => Just(Deed::Nothing),
        2 => (0..30usize).prop_map(Deed::Dispose),
        1 => (how(), place()).prop_map(|(how, place)| Deed::Register(how, place)),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (how(), place(), deed()).prop_map(|(how, place, deed)| Op::Register(how, place, deed)),
        1 => (0..30usize).prop_map(Op::Dispose),
        4 => place().prop_map(Op::Dispatch),
    ]
}

/// A listener of the model.
#[derive(Clone)]
struct Entry {
    number: usize,
    how: How,
    place: Place,
    deed: Deed,
}

/// The plain list that says what should happen.
#[derive(Default)]
struct Model {
    list: Vec<Entry>,
    registered: usize,
    heard: Vec<usize>,
}

impl Model {
    fn register(&mut self, how: How, place: Place, deed: Deed) {
        let entry = Entry { number: self.registered, how, place, deed };
        self.registered += 1;
        if how.prepend {
            self.list.insert(0, entry);
        } else {
            self.list.push(entry);
        }
    }

    fn dispose(&mut self, number: usize) {
        self.list.retain(|entry| entry.number != number);
    }

    /// Events flow up: a dispatch at a scope is heard there and farther up.
    fn hears(entry: &Entry, at: Place) -> bool {
        entry.how.global || entry.place.is_none_or(|place| at.is_some_and(|at| place <= at))
    }

    fn dispatch(&mut self, at: Place) {
        let begun: Vec<Entry> = self.list.iter().filter(|entry| Self::hears(entry, at)).cloned().collect();
        for entry in begun {
            if !self.list.iter().any(|live| live.number == entry.number) {
                continue;
            }
            if entry.how.once {
                self.dispose(entry.number);
            }
            self.heard.push(entry.number);
            match entry.deed {
                Deed::Nothing => {}
                Deed::Dispose(number) => self.dispose(number),
                Deed::Register(how, place) => self.register(how, place, Deed::Nothing),
            }
        }
    }

    fn count(&self, counted: Place) -> usize {
        let place = |entry: &Entry| if entry.how.global { None } else { entry.place };
        self.list.iter().filter(|entry| place(entry) == counted).count()
    }
}

/// The app under test.
struct World {
    scopes: OnceLock<(Context, [Scope; 3])>,
    effects: Mutex<HashMap<usize, Effect>>,
    heard: Mutex<Vec<usize>>,
}

impl World {
    fn new(app: &App) -> Arc<World> {
        let first = app.scope().unwrap();
        let second = app.scope_under(&first).unwrap();
        let third = app.scope_under(&second).unwrap();
        let scopes = OnceLock::from((app.root(), [first, second, third]));
        Arc::new(World { scopes, effects: Mutex::default(), heard: Mutex::default() })
    }

    fn context(&self, place: Place) -> &Context {
        let (root, scopes) = self.scopes.get().unwrap();
        place.map_or(root, |place| scopes[place].context())
    }

    fn scope(&self, place: Place) -> Option<&cordis::ScopeKey> {
        place.map(|place| self.scopes.get().unwrap().1[place].key())
    }

    fn register<M: Mode>(self: &Arc<Self>, how: How, place: Place, deed: Deed) {
        let mut effects = self.effects.lock().unwrap();
        let number = effects.len();
        let world = Arc::downgrade(self);
        let called = act(move || {
            let world = world.upgrade().unwrap();
            world.heard.lock().unwrap().push(number);
            match &deed {
                Deed::Nothing => {}
                Deed::Dispose(number) => world.cancel(*number),
                Deed::Register(how, place) => world.register::<M>(*how, *place, Deed::Nothing),
            }
        });
        let effect = M::place(self.context(place), how, called).unwrap();
        effects.insert(number, effect);
    }

    fn effect(&self, number: usize) -> Option<Effect> {
        self.effects.lock().unwrap().get(&number).cloned()
    }

    fn cancel(&self, number: usize) {
        if let Some(effect) = self.effect(number) {
            effect.cancel();
        }
    }
}

async fn agrees<M: Mode>(ops: &[Op]) -> Result<(), TestCaseError> {
    let (app, errors) = host();
    let world = World::new(&app);
    let mut model = Model::default();
    for (step, op) in ops.iter().enumerate() {
        match op {
            Op::Register(how, place, deed) => {
                model.register(*how, *place, deed.clone());
                world.register::<M>(*how, *place, deed.clone());
            }
            Op::Dispose(number) => {
                model.dispose(*number);
                if let Some(effect) = world.effect(*number) {
                    prop_assert!(effect.dispose().await.is_clean());
                }
            }
            Op::Dispatch(at) => {
                model.dispatch(*at);
                M::dispatch(world.context(None), world.scope(*at)).await;
            }
        }
        prop_assert_eq!(&*world.heard.lock().unwrap(), &model.heard, "{} after step {}", M::NAME, step);
        for place in [None, Some(0), Some(1), Some(2)] {
            let count = M::listeners(world.context(place));
            prop_assert_eq!(count, model.count(place), "{} at {:?} after step {}", M::NAME, place, step);
        }
        let live: Vec<bool> = (0..model.registered).map(|n| world.effect(n).unwrap().is_live()).collect();
        let expected: Vec<bool> =
            (0..model.registered).map(|n| model.list.iter().any(|e| e.number == n)).collect();
        prop_assert_eq!(live, expected, "{} after step {}", M::NAME, step);
    }
    prop_assert_eq!(errors.take(), vec![]);
    prop_assert!(app.shutdown().await.is_clean());
    Ok(())
}

fn run(test: impl Future<Output = Result<(), TestCaseError>>) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: cordis-core/C105, cordis-core/C112, design/P2
    #[test]
    fn emit_agrees_with_the_list(ops in prop::collection::vec(op(), 0..60)) {
        run(agrees::<EmitMode>(&ops))?;
    }

    // spec: cordis-core/C105, cordis-core/C112, design/P2
    #[test]
    fn announce_and_bail_agree_with_the_list(ops in prop::collection::vec(op(), 0..60)) {
        run(agrees::<AnnounceMode>(&ops))?;
        run(agrees::<BailMode>(&ops))?;
    }

    // spec: cordis-core/C105, cordis-core/C112, design/P2
    #[test]
    fn parallel_and_serial_agree_with_the_list(ops in prop::collection::vec(op(), 0..60)) {
        run(agrees::<ParallelMode>(&ops))?;
        run(agrees::<SerialMode>(&ops))?;
    }

    // spec: cordis-core/C105, cordis-core/C112, design/P2
    #[test]
    fn waterfall_agrees_with_the_list(ops in prop::collection::vec(op(), 0..60)) {
        run(agrees::<WaterfallMode>(&ops))?;
    }
}
