//! The rules, one by one.

use cordis::testing::TestApp;
use dsh_agent::testing::agent;
use dsh_jobs::{JobDone, JobId, JobSnapshot, JobStatus};
use dsh_jobs_invariants::{Rule, check, check_done};
use dsh_session::Session;

use crate::fixture::{ended, running};

fn broken(job: &JobSnapshot) -> Rule {
    check(job).unwrap_err().rule
}

fn id() -> String {
    "bash-1".to_owned()
}

// spec: timeout-jobs-hooks/J38
#[test]
fn jobs_that_are_right_break_no_rule() {
    let fine = [
        running(),
        ended(),
        JobSnapshot { status: JobStatus::Stopping, reported: true, ..running() },
        JobSnapshot { status: JobStatus::Killed, ..ended() },
        JobSnapshot { status: JobStatus::Failed, detail: Some("it broke".into()), ..ended() },
        JobSnapshot { started_at: 0, finished_at: Some(0), ..ended() },
        JobSnapshot { id: JobId::new("a-b 1", 120), kind: "a-b 1".into(), ..running() },
    ];
    for job in fine {
        assert_eq!(check(&job), Ok(()), "{job:?}");
    }
}

// spec: timeout-jobs-hooks/J38
#[test]
fn an_id_is_the_kind_and_a_positive_number() {
    for wrong in
        ["bash", "bash-", "bash-0", "bash-01", "bash--1", "bash-+1", "bash-1.5", "bash-x", "sh-1", "", "-1"]
    {
        let rule = broken(&JobSnapshot { id: wrong.into(), ..running() });
        assert_eq!(rule, Rule::Id { id: wrong.to_owned(), kind: "bash".to_owned() });
        let text = rule.to_string();
        assert!(
            text.contains(&format!("{wrong:?}")) && text.contains("\"bash-\" followed by a positive integer")
        );
    }
    let nameless = JobSnapshot { id: "-1".into(), kind: String::new(), ..running() };
    assert!(matches!(broken(&nameless), Rule::Id { .. }));
}

// spec: timeout-jobs-hooks/J38
#[test]
fn a_label_is_not_empty() {
    let rule = broken(&JobSnapshot { label: String::new(), ..running() });
    assert_eq!(rule, Rule::Label { id: id() });
    assert_eq!(rule.to_string(), "job \"bash-1\" label must be non-empty");
}

// spec: timeout-jobs-hooks/J38
#[test]
fn moments_are_numbers_that_json_keeps() {
    let rule = broken(&JobSnapshot { started_at: 1 << 53, ..running() });
    assert_eq!(rule, Rule::StartedAt { id: id() });
    assert_eq!(rule.to_string(), "job \"bash-1\" startedAt must be a non-negative epoch integer");
    for at in [1_699_999_999_999, 1 << 53] {
        let rule = broken(&JobSnapshot { finished_at: Some(at), ..ended() });
        assert_eq!(rule, Rule::FinishedAt { id: id() });
    }
}

// spec: timeout-jobs-hooks/J38
#[test]
fn the_end_is_there_exactly_if_the_job_has_ended() {
    for status in [JobStatus::Completed, JobStatus::Killed, JobStatus::Failed] {
        let rule = broken(&JobSnapshot { status, ..running() });
        assert_eq!(rule, Rule::Unfinished { id: id() });
        assert!(rule.to_string().contains("finishedAt"));
    }
    for status in [JobStatus::Running, JobStatus::Stopping] {
        assert_eq!(broken(&JobSnapshot { status, ..ended() }), Rule::Finished { id: id() });
    }
}

// spec: timeout-jobs-hooks/J38
#[tokio::test]
async fn an_end_is_told_with_its_owner() {
    let app = TestApp::new();
    let (owner, _inbox) = agent(&app, Session::detached("s-1")).unwrap();
    let of = |session: Option<&str>| JobSnapshot { owner_session: session.map(Into::into), ..ended() };
    let done = |session, owner| check_done(&JobDone { job: of(session), owner });
    assert_eq!(done(None, None), Ok(()));
    assert_eq!(done(Some("s-1"), Some(owner.clone())), Ok(()));
    for (session, owner) in
        [(None, Some(owner.clone())), (Some("s-1"), None), (Some("s-2"), Some(owner.clone()))]
    {
        let violation = done(session, owner).unwrap_err();
        assert_eq!(violation.rule, Rule::Owner { id: id() });
        assert!(violation.to_string().ends_with("ownerSession does not match its completion owner"));
    }
}
