//! What is known of a job, as data.

use dsh_jobs::{JobId, JobSnapshot, JobStatus, TerminalStatus};
use serde_json::{from_value, json, to_value};

fn running() -> JobSnapshot {
    JobSnapshot {
        id: JobId::new("bash", 1),
        kind: "bash".into(),
        label: "npm test".into(),
        status: JobStatus::Running,
        started_at: 1_700_000_000_000,
        reported: false,
        output_limit_bytes: None,
        owner_session: None,
        detail: None,
        finished_at: None,
    }
}

// spec: timeout-jobs-hooks/J22
#[test]
fn what_is_absent_is_not_written() {
    let expected = json!({
        "id": "bash-1",
        "kind": "bash",
        "label": "npm test",
        "status": "running",
        "startedAt": 1_700_000_000_000_u64,
        "reported": false,
    });
    assert_eq!(to_value(running()).unwrap(), expected);
    assert_eq!(from_value::<JobSnapshot>(expected).unwrap(), running());
}

// spec: timeout-jobs-hooks/J22
#[test]
fn all_that_is_there_is_written() {
    let job = JobSnapshot {
        status: JobStatus::Failed,
        reported: true,
        output_limit_bytes: Some(64),
        owner_session: Some("s-1".into()),
        detail: Some("exit code: 3".into()),
        finished_at: Some(1_700_000_000_001),
        ..running()
    };
    let expected = json!({
        "id": "bash-1",
        "kind": "bash",
        "label": "npm test",
        "status": "failed",
        "startedAt": 1_700_000_000_000_u64,
        "reported": true,
        "outputLimitBytes": 64,
        "ownerSession": "s-1",
        "detail": "exit code: 3",
        "finishedAt": 1_700_000_000_001_u64,
    });
    assert_eq!(to_value(&job).unwrap(), expected);
    assert_eq!(from_value::<JobSnapshot>(expected).unwrap(), job);
}

// spec: timeout-jobs-hooks/J21
#[test]
fn a_job_is_live_until_it_has_come_to_something() {
    use JobStatus::{Completed, Failed, Killed, Running, Stopping};
    let all = [
        (Running, "running", false),
        (Stopping, "stopping", false),
        (Completed, "completed", true),
        (Killed, "killed", true),
        (Failed, "failed", true),
    ];
    for (status, word, terminal) in all {
        assert_eq!((status.as_str(), status.is_terminal()), (word, terminal));
        assert_eq!(to_value(status).unwrap(), json!(word));
    }
    for status in [TerminalStatus::Completed, TerminalStatus::Killed, TerminalStatus::Failed] {
        assert!(JobStatus::from(status).is_terminal());
        assert_eq!(to_value(status).unwrap(), to_value(JobStatus::from(status)).unwrap());
    }
}

// spec: timeout-jobs-hooks/J25
#[test]
fn an_id_is_the_kind_and_a_number() {
    let id = JobId::new("bash", 12);
    assert_eq!(id.as_str(), "bash-12");
    assert_eq!(id, JobId::from("bash-12"));
    assert_eq!((id.to_string(), format!("{id:?}")), ("bash-12".to_owned(), "\"bash-12\"".to_owned()));
}
