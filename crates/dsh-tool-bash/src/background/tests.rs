#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::path::PathBuf;
use std::sync::Arc;

use dsh_jobs::{JobOutcome, TerminalStatus};
use dsh_shell::{BackgroundEnd, BackgroundOutput};
use dsh_subprocess::WaitError;

use super::{outcome, said};

// spec: fs-shell-sandbox/F104
#[test]
fn a_job_tells_how_its_command_ended() {
    for (exit_code, signal, killed, status, detail) in [
        (Some(0), None, false, TerminalStatus::Completed, "exit code: 0"),
        (Some(3), None, false, TerminalStatus::Completed, "exit code: 3"),
        (None, Some("SIGKILL"), false, TerminalStatus::Killed, "signal: SIGKILL"),
        (None, Some("SIGTERM"), true, TerminalStatus::Killed, "signal: SIGTERM"),
        (Some(0), None, true, TerminalStatus::Killed, "killed before exit"),
        (None, None, true, TerminalStatus::Killed, "killed before exit"),
    ] {
        let end = BackgroundEnd { exit_code, signal: signal.map(str::to_owned), killed, lost: None };
        let expected = JobOutcome { status, detail: Some(detail.to_owned()), output: None };
        assert_eq!(outcome(end.clone()).unwrap(), expected, "{end:?}");
    }
}

#[test]
fn a_command_of_which_nothing_is_known_did_not_complete() {
    let lost = WaitError { id: 7, source: Arc::new(std::io::Error::other("no child")) };
    for killed in [false, true] {
        let end = BackgroundEnd { killed, lost: Some(lost.clone()), ..BackgroundEnd::default() };
        assert_eq!(outcome(end).unwrap_err().to_string(), "cannot wait for process 7");
    }
    let failed = outcome(BackgroundEnd::default()).unwrap_err();
    assert_eq!(failed.to_string(), "the shell does not tell how the command ended");
}

// spec: fs-shell-sandbox/F104
#[test]
fn a_reader_is_told_what_is_missing_and_where_it_is() {
    let output = |text: &str, dropped, spill_paths: &[&str]| BackgroundOutput {
        text: text.to_owned(),
        dropped,
        spill_paths: spill_paths.iter().map(PathBuf::from).collect(),
    };
    for (output, text) in [
        (output("a", 0, &[]), "a"),
        (output("", 0, &[]), ""),
        (output("a\n", 7, &["/s/1"]), "a\n[7 bytes were dropped from memory; full output: /s/1]"),
        (output("a", 7, &["/s/1", "/s/2"]), "a\n[7 bytes were dropped from memory; full output: /s/1, /s/2]"),
        (output("", 7, &[]), "[7 bytes were dropped from memory; full output: (unavailable)]"),
    ] {
        assert_eq!(said(output), text);
    }
}
