//! Tools that call themselves.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    unused_imports,
    reason = "a test ends by panicking"
)]

#[path = "contract/fixture.rs"]
mod fixture;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fixture::{Fixture, tool};
use serde_json::json;

// spec: design/P4
#[tokio::test]
async fn a_tool_that_calls_itself_without_end_costs_its_call_and_not_the_process() {
    let fixture = Fixture::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let (tools, counted) = (fixture.tools.clone(), Arc::clone(&runs));
    fixture.register(tool("again", move |run| {
        let (tools, counted) = (tools.clone(), Arc::clone(&counted));
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
            let tools = tools.get()?;
            Ok(tools.with_lane(&run, |lane| async move { lane.call("again", json!({})).await }).await?)
        }
    }));
    let outcome = fixture.call("again").await;
    assert!(outcome.is_error() && outcome.text().contains("as deep as calls go"), "{}", outcome.text());
    assert_eq!(runs.load(Ordering::SeqCst), 17, "the outermost call and 16 inside of it");
}
