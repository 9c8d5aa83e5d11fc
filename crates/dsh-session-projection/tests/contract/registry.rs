//! Which units there are, and for how long.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use cordis::{BoxError, Context, Handle, define};
use dsh_session::Event;
use dsh_session_projection::{PROJECTIONS, Projections, RegisterError, Unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fixture::{Events, Fixture, Turns};

/// Has the key and the version of another unit.
struct SameKey;

impl Unit for SameKey {
    const KEY: &'static str = Turns::KEY;
    const STATE_VERSION: u32 = Turns::STATE_VERSION;
    type State = String;
    type View = String;

    fn init(&self) -> String {
        String::new()
    }

    fn apply(&self, _: &String, _: &Event) -> Option<String> {
        None
    }
}

/// Has the key of another unit in another version.
struct NextVersion;

impl Unit for NextVersion {
    const KEY: &'static str = Turns::KEY;
    const STATE_VERSION: u32 = Turns::STATE_VERSION + 1;
    type State = u64;
    type View = u64;

    fn init(&self) -> u64 {
        0
    }

    fn apply(&self, _: &u64, _: &Event) -> Option<u64> {
        None
    }
}

// spec: session/S112
#[tokio::test]
async fn a_unit_that_two_register_is_shared_and_goes_with_the_last_of_them() {
    let fixture = Fixture::new().await;
    let (first, second) = (fixture.register(Turns::default()), fixture.register(Turns::default()));
    fixture.turn(1);
    first.dispose().await;
    fixture.turn(2);
    assert_eq!(fixture.shown("turns"), Some(json!(2)));
    second.dispose().await;
    assert_eq!(fixture.shown("turns"), None);
}

// spec: session/S112
#[tokio::test]
async fn a_key_has_one_version_of_states() {
    let fixture = Fixture::new().await;
    let registered = fixture.register(Turns::default());
    let projections = fixture.projections.get().unwrap();
    let refused = projections.register(&fixture.app, NextVersion).unwrap_err();
    assert!(matches!(refused, RegisterError::Version { key: "turns", registered: 3, version: 4 }));
    // The refused one counts for nothing.
    registered.dispose().await;
    projections.register(&fixture.app, NextVersion).unwrap();
}

#[tokio::test]
async fn a_key_belongs_to_one_type() {
    let fixture = Fixture::new().await;
    fixture.register(Turns::default());
    let refused = fixture.projections.get().unwrap().register(&fixture.app, SameKey).unwrap_err();
    assert!(matches!(refused, RegisterError::Type { key: "turns" }));
}

/// Its states hold what the unit holds.
#[derive(Clone)]
struct Holding(Arc<()>);

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct Held {
    events: u64,
    #[serde(skip)]
    held: Arc<()>,
}

impl Unit for Holding {
    const KEY: &'static str = "holding";
    const STATE_VERSION: u32 = 0;
    type State = Held;
    type View = u64;

    fn init(&self) -> Held {
        Held { events: 0, held: self.0.clone() }
    }

    fn apply(&self, state: &Held, _: &Event) -> Option<Held> {
        Some(Held { events: state.events + 1, held: self.0.clone() })
    }

    fn view(&self, state: &Held) -> Option<u64> {
        Some(state.events)
    }
}

#[tokio::test]
async fn a_unit_goes_with_the_plugin_that_registered_it_and_nothing_of_it_stays() {
    let fixture = Fixture::new().await;
    let held = Arc::new(());
    let body =
        async |ctx: &Context, projections: Handle<Projections>, unit: &Holding| -> Result<(), BoxError> {
            projections.get()?.register(ctx, unit.clone())?;
            Ok(())
        };
    let plugin = define("holding").needs(PROJECTIONS).run(body);
    let plugin = fixture.app.plugin(plugin, Holding(held.clone())).unwrap();
    plugin.ready().await.unwrap();
    fixture.turn(1);
    assert_eq!(fixture.shown("holding"), Some(json!(1)));
    plugin.dispose().await;
    assert_eq!(fixture.shown("holding"), None);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[tokio::test]
async fn a_unit_that_comes_again_is_folded_anew() {
    let fixture = Fixture::new().await;
    let first = fixture.register(Events);
    fixture.turn(1);
    let state = |fixture: &Fixture| fixture.projections.get().unwrap().state_of::<Events>(&fixture.session);
    assert_eq!(state(&fixture), Some(1));
    first.dispose().await;
    assert_eq!(state(&fixture), None);
    fixture.turn(2);
    fixture.register(Events);
    assert_eq!(state(&fixture), Some(2));
}

#[tokio::test]
async fn a_context_that_is_inactive_registers_nothing() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    let ctx = scope.context().clone();
    scope.close().await;
    let refused = fixture.projections.get().unwrap().register(&ctx, Turns::default()).unwrap_err();
    assert!(matches!(refused, RegisterError::Inactive(_)));
    assert_eq!(fixture.shown("turns"), None);
}

/// Waits in the middle of an event.
struct Slow {
    begun: mpsc::SyncSender<()>,
    go_on: parking_lot::Mutex<mpsc::Receiver<()>>,
}

impl Unit for Slow {
    const KEY: &'static str = "slow";
    const STATE_VERSION: u32 = 0;
    type State = u64;
    type View = u64;

    fn init(&self) -> u64 {
        0
    }

    fn apply(&self, state: &u64, _: &Event) -> Option<u64> {
        self.begun.send(()).unwrap();
        self.go_on.lock().recv().unwrap();
        Some(state + 1)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_disposal_of_a_unit_waits_until_its_code_runs_nowhere() {
    let fixture = Fixture::new().await;
    let (begun, begins) = mpsc::sync_channel(1);
    let (go_on, waits) = mpsc::sync_channel(1);
    let slow = fixture.register(Slow { begun, go_on: parking_lot::Mutex::new(waits) });
    let session = fixture.session.clone();
    let appending = std::thread::spawn(move || session.append(crate::fixture::turn_start(1)).map(drop));
    begins.recv().unwrap();
    let mut disposing = std::pin::pin!(slow.dispose());
    let early = tokio::time::timeout(Duration::from_millis(50), &mut disposing).await;
    assert!(early.is_err(), "the unit is in the middle of an event");
    go_on.send(()).unwrap();
    let disposed = disposing.await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    appending.join().unwrap().unwrap();
}
