//! The text that the model reads about a command.

use dsh_shell::push_line;

use crate::value::{BashValue, Printed};

/// What the command printed, then one line for each fact about its end; or which job it is.
///
/// Source: the content of `tool/result` for `bash`.
pub(crate) fn text(value: &BashValue) -> String {
    let (exit_code, signal, timed_out, timeout_ms, mut text) = match value {
        BashValue::Background { job_id } => return format!("started background job {job_id}"),
        BashValue::Foreground { exit_code, signal, timed_out, timeout_ms, stdout, stderr, aborted: _ } => {
            (exit_code, signal, *timed_out, *timeout_ms, streams(stdout, stderr))
        }
    };
    if text.is_empty() {
        text.push_str("(no output)");
    }
    if timed_out {
        push_line(&mut text, &format!("[timed out after {timeout_ms}ms]"));
    }
    if let Some(signal) = signal {
        push_line(&mut text, &format!("[killed by signal: {signal}]"));
    } else if let Some(code) = exit_code.filter(|code| *code != 0) {
        push_line(&mut text, &format!("[exit code: {code}]"));
    }
    text
}

/// What the command printed, the error stream apart.
pub(crate) fn streams(stdout: &Printed, stderr: &Printed) -> String {
    let mut text = stream(stdout);
    let errors = stream(stderr);
    if !errors.is_empty() {
        push_line(&mut text, "[stderr]\n");
        text.push_str(&errors);
    }
    text
}

/// A stream, and where all of it is if something is missing.
fn stream(printed: &Printed) -> String {
    let Printed { text, truncated, spill_path } = printed;
    match truncated {
        false => text.clone(),
        true => {
            let path = spill_path.as_deref().unwrap_or("(unavailable)");
            format!("{text}\n[output truncated; full output: {path}]")
        }
    }
}

#[cfg(test)]
mod tests;
