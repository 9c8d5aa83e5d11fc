//! The text that the model reads about a command.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use crate::process::{Finished, Stopped, signal_name};

/// What the command printed, then one line for each fact about its end.
///
/// Source: the content of `tool/result` for `bash`.
pub(crate) fn finished(finished: &Finished, timeout: Duration) -> String {
    let mut text = streams(finished);
    if text.is_empty() {
        text.push_str("(no output)");
    }
    if finished.stopped == Some(Stopped::TimedOut) {
        push_line(&mut text, &format!("[timed out after {}ms]", timeout.as_nanos() as f64 / 1e6));
    }
    if let Some(signal) = finished.status.signal() {
        push_line(&mut text, &format!("[killed by signal: {}]", signal_name(signal)));
    } else if let Some(code) = finished.status.code().filter(|code| *code != 0) {
        push_line(&mut text, &format!("[exit code: {code}]"));
    }
    text
}

/// What the command printed, the error stream apart.
pub(crate) fn streams(finished: &Finished) -> String {
    let mut text = finished.stdout.clone();
    if !finished.stderr.is_empty() {
        push_line(&mut text, "[stderr]");
        push_line(&mut text, &finished.stderr);
    }
    text
}

/// Starts on a new line.
fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    use crate::process::{Finished, Stopped};

    #[test]
    fn the_time_limit_is_a_plain_number() {
        for (micros, text) in [(29_000, "29ms"), (500, "0.5ms"), (600_000_000, "600000ms")] {
            let finished = Finished {
                status: ExitStatus::from_raw(0),
                stopped: Some(Stopped::TimedOut),
                stdout: String::new(),
                stderr: String::new(),
            };
            let expected = format!("(no output)\n[timed out after {text}]");
            assert_eq!(super::finished(&finished, Duration::from_micros(micros)), expected);
        }
    }

    fn text(stdout: &str, stderr: &str, status: i32, stopped: Option<Stopped>) -> String {
        let status = ExitStatus::from_raw(status);
        let finished = Finished { status, stopped, stdout: stdout.to_owned(), stderr: stderr.to_owned() };
        super::finished(&finished, Duration::from_millis(500))
    }

    #[test]
    fn each_fact_stands_on_its_own_line() {
        assert_eq!(text("hello\n", "", 0, None), "hello\n");
        assert_eq!(text("", "", 0, None), "(no output)");
        assert_eq!(text("out", "err\n", 3 << 8, None), "out\n[stderr]\nerr\n[exit code: 3]");
        assert_eq!(text("", "a\n", 0, None), "[stderr]\na\n");
        assert_eq!(text("", "", 9, None), "(no output)\n[killed by signal: SIGKILL]");
        assert_eq!(
            text("part\n", "", 15, Some(Stopped::TimedOut)),
            "part\n[timed out after 500ms]\n[killed by signal: SIGTERM]"
        );
        assert_eq!(text("t\n", "", 0, Some(Stopped::TimedOut)), "t\n[timed out after 500ms]");
    }
}
