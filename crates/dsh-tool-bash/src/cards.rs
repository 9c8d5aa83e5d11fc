//! How a user interface may show a call and its result.

use dsh_llm::ContentBlock;
use dsh_tools::{CallView, LoggedResult, ResultView, TerminalEnd, ViewKind, read_arguments, title};
use serde_json::Value;

use crate::arguments::Arguments;

/// A terminal; a card for a command in the background, which shows nothing while it runs. The whole of a long command is in the
/// call itself.
pub(crate) fn call(arguments: &Value) -> Option<CallView> {
    let arguments: Arguments = read_arguments(arguments).ok()?;
    let background = arguments.is_background();
    let Arguments { command, description, workdir, .. } = arguments;
    Some(match background {
        true => CallView::Generic {
            title: title(&description).into_owned(),
            kind: Some(ViewKind::Execute),
            raw_input: Some(Value::from(command)),
            content: Vec::new(),
            locations: Vec::new(),
        },
        false => CallView::Terminal {
            title: title(&command).into_owned(),
            description: Some(description),
            cwd: workdir,
        },
    })
}

/// What the command printed and how it ended, read out of the text; a failure and a started job as they are. None for what
/// some policy has made into more than one text.
pub(crate) fn result(arguments: &Value, result: LoggedResult<'_>) -> Option<ResultView> {
    let arguments: Arguments = read_arguments(arguments).ok()?;
    let [ContentBlock::Text { text }] = result.content else { return None };
    if result.is_error || arguments.is_background() {
        return Some(ResultView::Generic { content: vec![ContentBlock::text(fenced(text))] });
    }
    let (output, ended) = end(text);
    Some(ResultView::Terminal { output: Some(output.to_owned()), ended: Some(ended) })
}

/// What was printed, and how the last line says that the command ended. That line has no line feed, and is never the first:
/// what looks like it elsewhere was printed by the command.
fn end(text: &str) -> (&str, TerminalEnd) {
    let ended = text.rsplit_once('\n').and_then(|(output, line)| {
        let fact = line.strip_prefix('[')?.strip_suffix(']')?;
        let end = match fact.strip_prefix("killed by signal: ") {
            Some(signal) => TerminalEnd::Signal(is_signal(signal).then(|| signal.to_owned())?),
            None => TerminalEnd::ExitCode(exit_code(fact.strip_prefix("exit code: ")?)?),
        };
        Some((output, end))
    });
    ended.unwrap_or((text, TerminalEnd::ExitCode(0)))
}

fn is_signal(name: &str) -> bool {
    name.strip_prefix("SIG").is_some_and(|rest| {
        !rest.is_empty() && rest.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '+')
    })
}

/// A code as it is told: not 0, which is not told.
fn exit_code(text: &str) -> Option<i32> {
    let code: i32 = text.parse().ok()?;
    (code != 0 && code.to_string() == text).then_some(code)
}

/// Console text between fences that are longer than any in it.
fn fenced(text: &str) -> String {
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    let gap = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}console\n{text}{gap}{fence}")
}
