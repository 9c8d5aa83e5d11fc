//! Ends that nobody is told of.

use dsh_jobs::JOBS;
use serde_json::json;

use crate::fixture::{Cancel, Fixture, Start, completed, said, sent, until};

// spec: timeout-jobs-hooks/J53
#[tokio::test]
async fn of_the_end_of_a_job_that_was_awaited_nobody_is_told() {
    let fixture = Fixture::new().await;
    let work = fixture.quiet();
    let wait = fixture.call("job_output", json!({ "job_id": "bash-1", "wait": true }));
    let (outcome, ()) = tokio::join!(wait, async {
        tokio::task::yield_now().await;
        fixture.end(work, said("done")).await;
    });
    assert_eq!(outcome.text(), "done\n[status: completed]");
    assert_eq!(sent(&fixture.inbox), []);
}

// spec: timeout-jobs-hooks/J53
#[tokio::test]
async fn of_the_end_of_a_job_of_nobody_nobody_is_told() {
    let fixture = Fixture::new().await;
    let work = fixture.start(Start { owner: None, ..Start::of(&fixture.ada) });
    fixture.end(work, completed("exit code: 0")).await;
    assert_eq!(sent(&fixture.inbox), []);
    fixture.app.assert_no_errors();
}

// spec: timeout-jobs-hooks/J37, timeout-jobs-hooks/J53
#[tokio::test]
async fn of_jobs_that_end_with_their_owner_or_with_the_service_nobody_is_told() {
    let fixture = Fixture::new().await;
    let (ben, inbox) = fixture.agent("ben");
    let refuses = |owner| Start { cancel: Cancel::Fails, ..Start::of(owner) };
    let (bens, adas) = (fixture.start(Start::of(&ben)), fixture.start(Start::of(&fixture.ada)));
    let _refusing = (fixture.start(refuses(&ben)), fixture.start(refuses(&fixture.ada)));

    let ends = ben.context().fiber();
    let disposed = tokio::spawn(async move { ends.dispose().await });
    until(|| *bens.cancels.lock() == [Some("owner disposed".to_owned())]).await;
    bens.stop();
    disposed.await.unwrap();

    let provider = fixture.provider.clone().unwrap();
    let disposed = tokio::spawn(async move { provider.dispose().await });
    until(|| *adas.cancels.lock() == [Some("jobs service disposed".to_owned())]).await;
    adas.stop();
    disposed.await.unwrap();
    assert!(fixture.app.get(JOBS).is_none());
    assert_eq!((sent(&fixture.inbox), sent(&inbox)), (vec![], vec![]));
}
