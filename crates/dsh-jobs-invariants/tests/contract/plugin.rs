//! When the plugin looks, and what it does.

use cordis::catalog;
use cordis::testing::{Recorder, TestApp};
use dsh_agent::testing::agent;
use dsh_jobs::{DONE, JobDone, JobSnapshot};
use dsh_jobs_invariants::testing::watch;
use dsh_jobs_invariants::{Rule, Violation, plugin};
use dsh_session::Session;

use crate::fixture::{Listed, ended, running};

fn unlabelled() -> JobSnapshot {
    JobSnapshot { label: String::new(), ..ended() }
}

fn done(job: JobSnapshot) -> JobDone {
    JobDone { job, owner: None }
}

// spec: timeout-jobs-hooks/J38
#[tokio::test]
async fn it_does_not_load_while_a_job_of_nobody_breaks_a_rule() {
    let app = TestApp::new();
    let mut owned = unlabelled();
    owned.owner_session = Some("s-1".into());
    let service = Listed::provide(vec![running(), ended(), owned], &app);
    app.plugin(plugin(), ()).unwrap().ready().await.unwrap();
    service.dispose().await;

    Listed::provide(vec![running(), unlabelled()], &app);
    let fiber = app.plugin(plugin(), ()).unwrap();
    fiber.ready().await.unwrap_err();
    let error = fiber.error().unwrap();
    let violation = error.downcast_ref::<Violation>().unwrap();
    assert_eq!(violation.rule, Rule::Label { id: "bash-1".into() });
}

// spec: timeout-jobs-hooks/J38
#[tokio::test]
async fn an_end_that_breaks_a_rule_is_reported_and_told_all_the_same() {
    let app = TestApp::new();
    Listed::provide(Vec::new(), &app);
    let checker = app.plugin(plugin(), ()).unwrap();
    checker.ready().await.unwrap();
    let told = Recorder::of(&app, DONE, |done| done.job.label.clone()).unwrap();
    app.emit(DONE, &done(ended()));
    app.assert_no_errors();
    app.emit(DONE, &done(unlabelled()));
    // At an agent's scope as well.
    let (owner, _inbox) = agent(&app, Session::detached("s-1")).unwrap();
    app.emit(DONE, &JobDone { job: ended(), owner: Some(owner) });
    assert_eq!(told.take(), ["npm test", "", "npm test"]);
    let mut errors = Vec::new();
    while errors.len() < 2 {
        tokio::task::yield_now().await;
        errors.extend(app.take_errors());
    }
    let texts: Vec<_> = errors.iter().map(|report| &*report.message).collect();
    assert!(texts[0].ends_with("label must be non-empty"), "{texts:?}");
    assert!(texts[1].ends_with("does not match its completion owner"), "{texts:?}");
    checker.dispose().await;
    app.emit(DONE, &done(unlabelled()));
    app.quiet().await;
    app.assert_no_errors();
}

#[tokio::test]
async fn a_watch_keeps_what_it_saw() {
    let app = TestApp::new();
    let watched = watch(&app).await;
    Listed::provide(Vec::new(), &app);
    app.quiet().await;
    app.emit(DONE, &done(ended()));
    assert_eq!(watched.take(), []);
    app.emit(DONE, &done(running()));
    app.emit(DONE, &done(unlabelled()));
    assert_eq!(watched.take().len(), 1);
}

#[tokio::test]
#[should_panic(expected = "jobs broke rules")]
async fn a_watch_fails_its_test() {
    let app = TestApp::new();
    Listed::provide(Vec::new(), &app);
    let _watched = watch(&app).await;
    app.emit(DONE, &done(unlabelled()));
}

#[test]
fn it_is_in_the_catalogue() {
    assert!(catalog::find("jobs-invariants").is_ok());
}
