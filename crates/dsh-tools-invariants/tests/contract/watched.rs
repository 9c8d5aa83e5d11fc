//! The helper for tests: it fails the test that broke a rule, and no other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fixture::Fixture;

#[tokio::test]
async fn a_violation_that_nobody_expected_fails_the_test_at_its_end() {
    let Fixture { app, tools, watched } = Fixture::new().await;
    tools.get().unwrap().execute(&app, dsh_tools::CallRequest::new("", "echo", "{}")).await;
    let failed = catch_unwind(AssertUnwindSafe(|| drop(watched))).unwrap_err();
    let text = failed.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("calls or logs broke rules: ") && text.contains("Anonymous"), "{text}");
}

#[tokio::test]
async fn without_a_violation_nothing_happens() {
    let Fixture { app, tools, watched } = Fixture::new().await;
    tools.get().unwrap().execute(&app, dsh_tools::CallRequest::new("c-1", "echo", "{}")).await;
    drop(watched);
}
