//! What is said when something is not done, and to which remedy it points.

use std::error::Error;

use dsh_jobs::{JobError, KillError, StartError, WaitError};

// spec: timeout-jobs-hooks/J23
#[test]
fn a_start_that_is_refused_says_what_to_do() {
    let refusals = [
        (
            StartError::NoController,
            ["no job controller serves this agent", "have the host load the plugin `tool-jobs`"],
        ),
        (StartError::Kind, ["invalid job kind", "expected a non-empty string"]),
        (StartError::Label, ["invalid job label", "expected a non-empty string"]),
        (StartError::OutputLimit { given: 0 }, ["outputLimitBytes", "got 0"]),
        (StartError::NoAgents, ["registry of agents", "provides the service `agents`"]),
        (
            StartError::NotLive { agent: "s-1".into() },
            ["`s-1`", "start the job for the agent that is registered now"],
        ),
        (StartError::Full { limit: 10 }, ["limit of 10", "job_kill"]),
        (
            StartError::Ending { what: "agent `s-1`".into() },
            ["agent `s-1` is ending", "run the work in the foreground"],
        ),
    ];
    for (refusal, parts) in refusals {
        let text = refusal.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(!text.contains('@'), "no package of another program: {text}");
        assert!(refusal.source().is_none());
    }
    let failed = StartError::Run("no such file".into());
    assert!(failed.to_string().contains("mend the cause, then start it again"), "{failed}");
    assert_eq!(failed.source().unwrap().to_string(), "no such file");
}

// spec: timeout-jobs-hooks/J27, timeout-jobs-hooks/J30
#[test]
fn a_job_that_is_not_there_or_not_ones_own_is_named() {
    let unknown = JobError::Unknown { id: "bash-9".into() };
    let foreign = JobError::Foreign { id: "bash-1".into() };
    assert_eq!(unknown.to_string(), "unknown job bash-9");
    assert_eq!(foreign.to_string(), "job bash-1 belongs to another session");
    // The same, whatever was wanted of it.
    assert_eq!(KillError::from(unknown.clone()).to_string(), unknown.to_string());
    assert_eq!(WaitError::from(foreign.clone()).to_string(), foreign.to_string());
    assert_eq!(WaitError::Aborted.to_string(), "wait aborted");
    let refused = WaitError::Time { given_ms: 0 }.to_string();
    assert_eq!(refused, "invalid wait timeout: expected a positive number of milliseconds, got 0");
}
