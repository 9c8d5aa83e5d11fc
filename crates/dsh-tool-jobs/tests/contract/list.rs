//! What `job_list` gives.

use serde_json::json;

use crate::fixture::{Fixture, Start, said};

// spec: timeout-jobs-hooks/J27, timeout-jobs-hooks/J43, timeout-jobs-hooks/J45
#[tokio::test]
async fn the_jobs_that_the_caller_sees_are_listed_in_their_order() {
    let fixture = Fixture::new().await;
    let (ben, _) = fixture.agent("ben");
    let empty = fixture.call("job_list", json!({})).await;
    assert_eq!((empty.text().as_str(), empty.value()), ("(no background jobs)", Some(&json!([]))));

    let first = fixture.quiet();
    let named = |owner, kind, label: &str| Start { owner, kind, label: label.to_owned(), ..Start::of(&ben) };
    let _bens = fixture.start(named(Some(ben.clone()), "bash", "of ben"));
    let nobodys = fixture.start(named(None, "task", "two\nlines"));
    let started = (first.job.started_at, nobodys.job.started_at);
    fixture.end(first, said("done")).await;
    let outcome = fixture.call("job_list", json!({})).await;
    assert_eq!(outcome.text(), "bash-1 [bash] completed — echo hi\ntask-1 [task] running — two\nlines");
    let finished = outcome.value().unwrap()[0]["finishedAt"].clone();
    assert!(finished.as_u64() >= Some(started.0));
    let expected = json!([
        { "id": "bash-1", "kind": "bash", "label": "echo hi", "status": "completed", "startedAt": started.0,
          "finishedAt": finished },
        { "id": "task-1", "kind": "task", "label": "two\nlines", "status": "running", "startedAt": started.1 },
    ]);
    assert_eq!(outcome.value(), Some(&expected));
    let bens = fixture.call_of(&ben, "job_list", json!({})).await;
    assert_eq!(bens.text(), "bash-2 [bash] running — of ben\ntask-1 [task] running — two\nlines");
}

// spec: timeout-jobs-hooks/J43
#[tokio::test]
async fn of_a_long_label_a_reader_sees_the_beginning_and_a_program_all() {
    let fixture = Fixture::new().await;
    let label = format!("{}b{}", "é".repeat(199), "€".repeat(1_000_000));
    let _long = fixture.start(Start { label: label.clone(), ..Start::of(&fixture.ada) });
    let _short = fixture.start(Start { label: "é".repeat(200), ..Start::of(&fixture.ada) });
    let outcome = fixture.call("job_list", json!({})).await;
    let expected =
        format!("bash-1 [bash] running — {}b…\nbash-2 [bash] running — {}", "é".repeat(199), "é".repeat(200));
    assert_eq!(outcome.text(), expected);
    assert_eq!(outcome.value().unwrap()[0]["label"], json!(label));
}

// spec: timeout-jobs-hooks/J27, timeout-jobs-hooks/J53
#[tokio::test]
async fn listing_a_job_that_has_ended_does_not_make_it_known() {
    let fixture = Fixture::new().await;
    fixture.end(fixture.quiet(), said("done")).await;
    fixture.call("job_list", json!({})).await;
    assert_eq!(fixture.inbox.take().len(), 1);
    let jobs = fixture.jobs();
    assert!(!jobs.get().unwrap().get("bash-1", Some(&fixture.ada)).unwrap().reported);
}
