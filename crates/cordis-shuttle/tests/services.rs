//! Schedules of providers that come and go against those who use them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use cordis_shuttle::{App, BoxError, Context, Emit, Handle, Key, ProvideError, State, define};
use shuttle::{future::block_on, thread};
use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};
use support::{Capture, Count, Watch, explore, pause, step};

const TICK: Emit<u32> = Emit::new("tick");
const SERVICE: Key<Service> = Key::new("service");
const OTHER: Key<Service> = Key::new("other");

struct Service {
    number: u32,
    gone: Option<Arc<AtomicBool>>,
}

impl Service {
    fn numbered(number: u32) -> Arc<Service> {
        Arc::new(Service { number, gone: None })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(gone) = &self.gone {
            gone.store(true, SeqCst);
        }
    }
}

/// What a dependant is told, and what it tells.
#[derive(Clone)]
struct Dependant {
    watch: Arc<Watch>,
    loads: Count,
    undone: Count,
    refused: Count,
    seen: Arc<Mutex<Vec<u32>>>,
}

impl Dependant {
    fn new() -> Self {
        Dependant {
            watch: Watch::new(),
            loads: Count::default(),
            undone: Count::default(),
            refused: Count::default(),
            seen: Arc::default(),
        }
    }

    fn verify(&self) {
        assert_eq!(self.refused.get(), 0, "a service was gone before its dependant was drained");
        assert_eq!(self.undone.get(), self.loads.get(), "each load is undone once");
        self.watch.verify();
    }
}

/// Uses the service in its body, in a listener and while it is undone: always before the service is gone.
async fn depend(ctx: &Context, service: Handle<Service>, told: &Dependant) -> Result<(), BoxError> {
    let uses = |service: &Handle<Service>, refused: &Count| match service.get() {
        Ok(service) => Some(service.number),
        Err(_) => {
            refused.add();
            None
        }
    };
    told.loads.add();
    let (last, undone, refused) = (service.clone(), told.undone.clone(), told.refused.clone());
    ctx.effect("dependant", async move || {
        pause().await;
        uses(&last, &refused);
        undone.add();
    })?;
    let state = (service.clone(), told.watch.capture(), told.refused.clone());
    ctx.on(TICK).with(state).run(
        move |(service, capture, refused): &(Handle<Service>, Capture, Count), _| {
            let _run = capture.run();
            step();
            uses(service, refused);
        },
    )?;
    pause().await;
    told.seen.lock().unwrap().extend(uses(&service, &told.refused));
    Ok(())
}

// spec: design/P1, design/P2
#[test]
fn dependant_is_drained_before_its_provider_is_gone() {
    explore("emit x provide x dispose of the provider", || {
        let app = App::new().unwrap();
        let told = Dependant::new();
        let gone = Arc::new(AtomicBool::new(false));
        let provider =
            define("provider").run(async |ctx: &Context, (): (), told: &(Arc<AtomicBool>, Dependant)| {
                let (gone, dependant) = told.clone();
                pause().await;
                ctx.provide(SERVICE, Arc::new(Service { number: 1, gone: Some(gone) }))?;
                // Undone before the service is, and after all who use it.
                ctx.effect("newer", async move || {
                    if dependant.loads.get() != dependant.undone.get() {
                        dependant.refused.add();
                    }
                })?;
                Ok(())
            });
        let provider = app.plugin(provider, (gone.clone(), told.clone())).unwrap();
        let dependant = app.plugin(define("dependant").needs(SERVICE).run(depend), told.clone()).unwrap();
        let (emitting, providing): (Context, Context) = (app.clone(), app.clone());
        let emitter = thread::spawn(move || (0..2).for_each(|n| emitting.emit(TICK, &n)));
        let other = thread::spawn(move || {
            let other = providing.provide(OTHER, Service::numbered(2)).unwrap();
            block_on(other.dispose());
        });
        let got = app.get(SERVICE);
        assert!(block_on(provider.dispose()).is_clean());
        told.watch.over();
        assert!(gone.load(SeqCst) || told.seen.lock().unwrap().is_empty(), "the value outlives its provider");
        assert!(got.is_none_or(|handle| handle.get().is_err()));
        assert!(app.get(SERVICE).is_none() && app.peek(SERVICE).is_none());
        assert_eq!(block_on(dependant.ready()).unwrap(), State::Pending);
        emitter.join().unwrap();
        other.join().unwrap();
        app.emit(TICK, &9);
        block_on(app.shutdown());
        told.verify();
    });
}

// spec: design/P1
#[test]
fn lease_keeps_the_value_but_no_handle_gives_another() {
    explore("lease x get x dispose", || {
        let app = App::new().unwrap();
        let gone = Arc::new(AtomicBool::new(false));
        let effect = app.provide(SERVICE, Arc::new(Service { number: 1, gone: Some(gone.clone()) })).unwrap();
        let handle = app.get(SERVICE).unwrap();
        let lease = handle.get().unwrap();
        let leasing = {
            let (handle, gone) = (handle.clone(), gone.clone());
            thread::spawn(move || {
                let lease = handle.get();
                step();
                // A lease is good to its end, whatever became of the registration.
                assert!(lease.is_err() || !gone.load(SeqCst));
            })
        };
        let disposed = block_on(effect.dispose());
        assert!(handle.get().is_err() && app.get(SERVICE).is_none());
        assert_eq!((disposed.leases.len(), gone.load(SeqCst), lease.number), (1, false, 1));
        leasing.join().unwrap();
        drop(lease);
        // Not on this thread, which may hold a lock; a value that is never dropped runs into the limit of steps.
        while !gone.load(SeqCst) {
            thread::yield_now();
        }
        block_on(app.shutdown());
    });
}

// spec: design/P1
#[test]
fn check_of_a_provider_is_not_asked_once_the_provider_is_gone() {
    explore("provide_when x plugin x notify x dispose", || {
        let app = App::new().unwrap();
        let (told, watch) = (Dependant::new(), Watch::new());
        let capture = watch.capture();
        let effect = app.provide_when(SERVICE, Service::numbered(1), move |_| {
            let _run = capture.run();
            step();
            true
        });
        let effect = effect.unwrap();
        let (mounting, notifying, config): (Context, Context, _) = (app.clone(), app.clone(), told.clone());
        let mounting = thread::spawn(move || {
            mounting.plugin(define("dependant").needs(SERVICE).run(depend), config).unwrap()
        });
        let notifier = thread::spawn(move || notifying.notify(SERVICE));
        assert!(block_on(effect.dispose()).is_clean());
        watch.over();
        let dependant = mounting.join().unwrap();
        notifier.join().unwrap();
        assert_eq!(block_on(dependant.ready()).unwrap(), State::Pending);
        block_on(app.shutdown());
        told.watch.over();
        told.verify();
        watch.verify();
    });
}

#[test]
fn check_may_withdraw_its_own_provider() {
    explore("provide_when whose check cancels x plugin", || {
        let app = App::new().unwrap();
        let told = Dependant::new();
        let slot: Arc<std::sync::OnceLock<cordis_shuttle::Effect>> = Arc::default();
        let own = slot.clone();
        let effect = app.provide_when(SERVICE, Service::numbered(1), move |_| {
            if let Some(effect) = own.get() {
                effect.cancel();
            }
            true
        });
        slot.set(effect.unwrap()).unwrap();
        let looking: Context = app.clone();
        let looker = thread::spawn(move || looking.get(SERVICE).is_some_and(|handle| handle.get().is_ok()));
        let dependant = app.plugin(define("dependant").needs(SERVICE).run(depend), told.clone()).unwrap();
        block_on(app.quiet());
        looker.join().unwrap();
        assert_eq!((dependant.state(), app.get(SERVICE).is_none()), (State::Pending, true));
        block_on(app.shutdown());
        told.watch.over();
        told.verify();
    });
}

// spec: design/P1
#[test]
fn dependant_follows_when_another_provider_takes_over() {
    explore("provider swapped while its dependant loads", || {
        let app = App::new().unwrap();
        let told = Dependant::new();
        let dependant = app.plugin(define("dependant").needs(SERVICE).run(depend), told.clone()).unwrap();
        let first = app.provide(SERVICE, Service::numbered(1)).unwrap();
        let emitting: Context = app.clone();
        let emitter = thread::spawn(move || emitting.emit(TICK, &1));
        assert!(block_on(first.dispose()).is_clean());
        assert!(told.loads.get() == told.undone.get(), "the first load is undone before its service is gone");
        app.provide(SERVICE, Service::numbered(2)).unwrap();
        block_on(app.quiet());
        assert_eq!((dependant.state(), told.loads.get() - told.undone.get()), (State::Active, 1));
        assert_eq!(told.seen.lock().unwrap().last(), Some(&2));
        emitter.join().unwrap();
        assert!(block_on(app.shutdown()).is_clean());
        told.watch.over();
        told.verify();
    });
}

// spec: design/P1
#[test]
fn dependant_that_loads_for_ever_does_not_hold_its_provider_up() {
    explore("endless load x dispose of the provider", || {
        let app = App::new().unwrap();
        let told = Dependant::new();
        let endless =
            define("dependant").needs(SERVICE).run(async |ctx: &Context, service, told: &Dependant| {
                let capture = told.watch.capture();
                let _run = capture.run();
                depend(ctx, service, told).await?;
                pending().await
            });
        let dependant = app.plugin(endless, told.clone()).unwrap();
        let effect = app.provide(SERVICE, Service::numbered(1)).unwrap();
        assert!(block_on(effect.dispose()).is_clean());
        told.watch.over();
        assert_eq!(block_on(dependant.ready()).unwrap(), State::Pending);
        block_on(app.shutdown());
        told.verify();
    });
}

#[test]
fn dependant_is_swapped_by_two_threads_and_ends_with_the_one_that_stays() {
    explore("provide x provide x dispose from two threads", || {
        let app = App::new().unwrap();
        let told = Dependant::new();
        let dependant = app.plugin(define("dependant").needs(SERVICE).run(depend), told.clone()).unwrap();
        let swap = |number: u32| {
            let ctx: Context = app.clone();
            thread::spawn(move || {
                // Somebody else may be in the way, until it is gone.
                for _ in 0..2 {
                    if let Ok(effect) = ctx.provide(SERVICE, Service::numbered(number)) {
                        assert!(block_on(effect.dispose()).is_clean());
                    }
                }
            })
        };
        for thread in [swap(1), swap(2)] {
            thread.join().unwrap();
        }
        assert!(app.get(SERVICE).is_none());
        assert_eq!(block_on(dependant.ready()).unwrap(), State::Pending);
        app.provide(SERVICE, Service::numbered(3)).unwrap();
        block_on(dependant.until(State::Active));
        assert_eq!(told.seen.lock().unwrap().last(), Some(&3));
        block_on(app.shutdown());
        told.watch.over();
        told.verify();
    });
}

// spec: design/P1
#[test]
fn of_two_providers_that_race_for_a_key_one_is_refused() {
    explore("provide x provide", || {
        let app = App::new().unwrap();
        let told = Dependant::new();
        let dependant = app.plugin(define("dependant").needs(SERVICE).run(depend), told.clone()).unwrap();
        let race = |number: u32| {
            let ctx: Context = app.clone();
            thread::spawn(move || ctx.provide(SERVICE, Service::numbered(number)))
        };
        let both = [race(1), race(2)].map(|thread| thread.join().unwrap());
        let refused = both.iter().filter(|result| matches!(result, Err(ProvideError::Taken { .. }))).count();
        assert_eq!(refused, 1, "{both:?}");
        block_on(dependant.until(State::Active));
        let winner = if both[0].is_ok() { 1 } else { 2 };
        assert_eq!(app.get(SERVICE).unwrap().get().unwrap().number, winner);
        assert_eq!(*told.seen.lock().unwrap(), [winner]);
        block_on(app.shutdown());
        told.watch.over();
        told.verify();
    });
}

#[test]
fn of_two_plugins_that_race_for_a_key_one_fails_and_the_other_serves() {
    explore("plugin provides x plugin provides", || {
        let app = App::new().unwrap();
        let told = Dependant::new();
        app.plugin(define("dependant").needs(SERVICE).run(depend), told.clone()).unwrap();
        let race = |number: u32| {
            let ctx: Context = app.clone();
            thread::spawn(move || {
                let provider = define("provider").run(async |ctx: &Context, (): (), number: &u32| {
                    ctx.provide(SERVICE, Service::numbered(*number))?;
                    pause().await;
                    Ok(())
                });
                let fiber = ctx.plugin(provider, number).unwrap();
                (block_on(fiber.ready()).is_ok(), number)
            })
        };
        let both = [race(1), race(2)].map(|thread| thread.join().unwrap());
        let winners: Vec<u32> = both.iter().filter(|(well, _)| *well).map(|(_, number)| *number).collect();
        assert_eq!(winners.len(), 1, "{both:?}");
        block_on(app.quiet());
        assert_eq!(*told.seen.lock().unwrap(), winners);
        block_on(app.shutdown());
        told.watch.over();
        told.verify();
    });
}
