//! Who watches hooks is told of each that has run.

use std::sync::Arc;

use dsh_hooks::{Dialect, HookRan, RAN, Said};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::{Fixture, says};

#[tokio::test]
async fn every_hook_that_has_run_is_told_with_what_it_read_and_answered() {
    let fixture = Fixture::bare().await;
    let told: Arc<Mutex<Vec<HookRan>>> = Arc::default();
    fixture.world.app.on(RAN).with(told.clone()).run(|told, ran| told.lock().push(ran.clone())).unwrap();
    let rewrite = says("PreToolUse", json!({ "updatedInput": { "a": 2 } }));
    fixture
        .mount(json!({ "PreToolUse": [
            { "matcher": "other", "hooks": [{ "command": "touch never" }] },
            { "hooks": [{ "command": rewrite }, { "command": "echo plain; echo no >&2; exit 2" }] },
        ] }))
        .await;
    assert!(fixture.call(json!({ "a": 1 })).await.is_error());
    let told = told.lock();
    let [first, second] = &**told else { panic!("two hooks ran: {told:?}") };
    assert_eq!((first.index, second.index), (1, 2), "places in the configuration");
    let read = |ran: &HookRan| serde_json::from_str::<Value>(&ran.payload).unwrap()["tool_input"].clone();
    assert_eq!((read(first), read(second)), (json!({ "a": 1 }), json!({ "a": 2 })));
    assert_eq!(first.run.output.updated_input, json!({ "a": 2 }).as_object().cloned());
    let (said, code) = (second.run.output.said, second.run.exit_code);
    assert_eq!((said, code, &*second.run.stderr), (Some(Said::Block), Some(2), "no\n"));
    assert_eq!((&*second.handler_id, second.dialect), ("claude-code:PreToolUse:2", Dialect::ClaudeCode));
    assert_eq!(second.session_id.as_deref(), Some("ada"));
    assert_eq!(second.handler.command, "echo plain; echo no >&2; exit 2");
}

#[tokio::test]
async fn a_watcher_that_panics_changes_nothing() {
    let fixture = Fixture::bare().await;
    fixture.world.app.on(RAN).run(|_| panic!("a watcher's own matter")).unwrap();
    fixture
        .mount(
            json!({ "PreToolUse": [{ "hooks": [{ "command": "exit 2" }, { "command": "touch second" }] }] }),
        )
        .await;
    assert_eq!(fixture.call(json!({})).await.text(), "Error: blocked by PreToolUse hook");
    assert!(fixture.has("second"));
}
