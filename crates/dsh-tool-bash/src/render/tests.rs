use std::path::PathBuf;
use std::time::Duration;

use dsh_shell::{ShellOutput, ShellResult};
use dsh_subprocess::Cut;

use super::text;
use crate::value::BashValue;

fn whole(text: &str) -> ShellOutput {
    ShellOutput { cut: Cut { head: text.to_owned(), ..Cut::default() }, spill_path: None }
}

fn cut(head: &str, dropped: u64, tail: &str, spill_path: Option<&str>) -> ShellOutput {
    let cut = Cut { head: head.to_owned(), dropped, tail: tail.to_owned() };
    ShellOutput { cut, spill_path: spill_path.map(PathBuf::from) }
}

fn ended(stdout: ShellOutput, stderr: ShellOutput) -> ShellResult {
    ShellResult {
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        aborted: false,
        timeout: Duration::from_millis(500),
        stdout,
        stderr,
    }
}

fn rendered(result: ShellResult) -> String {
    text(&BashValue::from(result))
}

fn clean(stdout: &str, stderr: &str) -> String {
    rendered(ended(whole(stdout), whole(stderr)))
}

// spec: fs-shell-sandbox/F102
#[test]
fn what_was_printed_is_given_with_the_errors_apart() {
    assert_eq!(clean("hello\n", ""), "hello\n");
    assert_eq!(clean("hello", ""), "hello");
    assert_eq!(clean("", ""), "(no output)");
    assert_eq!(clean("", "a\n"), "[stderr]\na\n");
    assert_eq!(clean("out\n", "err\n"), "out\n[stderr]\nerr\n");
    assert_eq!(clean("out", "err"), "out\n[stderr]\nerr");
}

// spec: fs-shell-sandbox/F102
#[test]
fn each_fact_about_the_end_stands_on_a_line_of_its_own() {
    let facts = |stdout: &str, exit_code, signal: Option<&str>, timed_out| {
        let signal = signal.map(str::to_owned);
        rendered(ShellResult { exit_code, signal, timed_out, ..ended(whole(stdout), whole("")) })
    };
    assert_eq!(facts("out", Some(3), None, false), "out\n[exit code: 3]");
    assert_eq!(facts("", Some(3), None, false), "(no output)\n[exit code: 3]");
    assert_eq!(facts("", None, Some("SIGKILL"), false), "(no output)\n[killed by signal: SIGKILL]");
    assert_eq!(
        facts("part\n", None, Some("SIGTERM"), true),
        "part\n[timed out after 500ms]\n[killed by signal: SIGTERM]"
    );
    assert_eq!(facts("t\n", Some(0), None, true), "t\n[timed out after 500ms]");
    assert_eq!(facts("t\n", Some(7), None, true), "t\n[timed out after 500ms]\n[exit code: 7]");
}

// spec: fs-shell-sandbox/F102
#[test]
fn where_bytes_are_missing_a_line_counts_them_and_the_stream_ends_with_its_file() {
    let stdout = cut("1\n2", 290, "99\n100\n", Some("/spills/1-stdout"));
    assert_eq!(
        rendered(ended(stdout.clone(), whole(""))),
        "1\n2\n[290 bytes left out here]\n99\n100\n\n[output truncated; full output: /spills/1-stdout]"
    );
    let stderr = cut("", 5, "e", None);
    assert_eq!(
        rendered(ShellResult { exit_code: Some(1), ..ended(stdout, stderr.clone()) }),
        "1\n2\n[290 bytes left out here]\n99\n100\n\n[output truncated; full output: /spills/1-stdout]\n\
         [stderr]\n[5 bytes left out here]\ne\n[output truncated; full output: (unavailable)]\n[exit code: 1]"
    );
    assert_eq!(
        rendered(ended(whole("o\n"), stderr)),
        "o\n[stderr]\n[5 bytes left out here]\ne\n[output truncated; full output: (unavailable)]"
    );
}

#[test]
fn the_time_limit_is_a_plain_number() {
    for (micros, ms) in [(29_000, "29"), (500, "0.5"), (600_000_000, "600000")] {
        let timeout = Duration::from_micros(micros);
        let result = ShellResult { timeout, timed_out: true, ..ended(whole(""), whole("")) };
        assert_eq!(rendered(result.clone()), format!("(no output)\n[timed out after {ms}ms]"));
        let value = serde_json::to_value(BashValue::from(result)).unwrap();
        assert_eq!(value["timeoutMs"].to_string(), ms);
    }
}

#[test]
fn a_job_is_named() {
    assert_eq!(text(&BashValue::Background { job_id: "bash-1".to_owned() }), "started background job bash-1");
}
