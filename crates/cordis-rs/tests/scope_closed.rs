//! Whether a scope is closed, as whoever acts in its name asks.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cordis::testing::TestApp;
use cordis::{BoxError, Context, ScopeKey, define};

// spec: design/P1
#[tokio::test]
async fn a_scope_is_closed_from_when_it_begins_to_close_and_before_anything_is_undone() {
    let app = TestApp::new();
    let scope = app.scope().unwrap();
    let (key, seen) = (scope.key().clone(), Arc::new(AtomicUsize::new(0)));
    assert!(!key.is_closed());
    let (looked, at) = (Arc::clone(&seen), key.clone());
    let effect = async move || {
        looked.store(1 + usize::from(at.is_closed()), Ordering::SeqCst);
    };
    let _effect = scope.context().effect("looks", effect).unwrap();
    scope.close().await;
    assert_eq!((key.is_closed(), seen.load(Ordering::SeqCst)), (true, 2));
}

#[tokio::test]
async fn an_identity_is_closed_with_its_last_scope_and_open_again_with_the_next() {
    let app = TestApp::new();
    let key = ScopeKey::new();
    assert!(!key.is_closed(), "no scope was ever opened");
    let (one, two) = (app.scope_for(&key).unwrap(), app.scope_for(&key).unwrap());
    one.close().await;
    one.close().await;
    assert!(!key.is_closed());
    drop(two);
    assert!(key.is_closed());
    let _three = app.scope_for(&key).unwrap();
    assert!(!key.is_closed());
}

#[tokio::test]
async fn what_is_below_a_closed_scope_is_closed() {
    let app = TestApp::new();
    let parent = app.scope().unwrap();
    let child = app.scope_under(parent.key()).unwrap();
    parent.close().await;
    assert!(child.key().is_closed());
}

#[tokio::test]
async fn a_plugin_in_a_scope_is_not_the_scope() {
    async fn body(_: &Context, (): (), _: &()) -> Result<(), BoxError> {
        Ok(())
    }
    let app = TestApp::new();
    let scope = app.scope().unwrap();
    let fiber = scope.context().plugin(define("inside").run(body), ()).unwrap();
    fiber.ready().await.unwrap();
    fiber.dispose().await;
    assert!(!scope.key().is_closed());
    let child = scope.context().scope().unwrap();
    child.close().await;
    assert!(!scope.key().is_closed());
    app.shutdown().await;
    assert!(scope.key().is_closed());
}
