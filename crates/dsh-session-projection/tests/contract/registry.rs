//! Which units there are, and for how long.

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, define};
use dsh_session::Event;
use dsh_session_projection::{PROJECTIONS, Projections, RegisterError, Unit};
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

#[tokio::test]
async fn a_unit_goes_with_the_plugin_that_registered_it_and_nothing_of_it_stays() {
    let fixture = Fixture::new().await;
    let unit = Turns::default();
    let body =
        async |ctx: &Context, projections: Handle<Projections>, unit: &Turns| -> Result<(), BoxError> {
            projections.get()?.register(ctx, unit.clone())?;
            Ok(())
        };
    let plugin = fixture.app.plugin(define("turns").needs(PROJECTIONS).run(body), unit.clone()).unwrap();
    plugin.ready().await.unwrap();
    fixture.turn(1);
    assert_eq!(fixture.shown("turns"), Some(json!(1)));
    plugin.dispose().await;
    assert_eq!(fixture.shown("turns"), None);
    assert_eq!(Arc::strong_count(&unit.applied), 1);
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
