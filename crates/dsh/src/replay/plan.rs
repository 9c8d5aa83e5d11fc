//! What a log asks for: the list that the user sees before anything is run.

use dsh_llm::ContentBlock;
use dsh_session::{BadData, LoggedCall, SessionLog, tool_calls};
use dsh_tools::parse_arguments;
use serde::Serialize;
use serde_json::Value;

/// The calls of a log in the order in which they will be run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The session's id.
    pub(crate) session: String,
    /// The folder that the session worked in. It is shown, and never opened.
    pub(crate) cwd: Option<String>,
    pub(crate) turns: usize,
    pub(crate) calls: Vec<PlannedCall>,
}

/// One call of the log.
#[derive(Debug)]
pub(crate) struct PlannedCall {
    /// Its place in the list, counted from 1.
    pub(crate) number: usize,
    pub(crate) turn: u64,
    pub(crate) step: u64,
    pub(crate) id: String,
    pub(crate) tool: String,
    /// The model's text.
    pub(crate) arguments: String,
    /// What a reader wants to know of the arguments: the command, the file.
    pub(crate) subject: String,
    /// What the model was told then.
    pub(crate) logged: Option<LoggedResult>,
}

/// What the model was told about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoggedResult {
    /// The text, or the whole content as JSON if not all of it is text.
    pub(crate) content: String,
    pub(crate) is_error: bool,
    pub(crate) code: Option<String>,
}

impl Plan {
    pub(crate) fn of(log: &SessionLog) -> Result<Self, BadData> {
        let calls = tool_calls(&log.events)?;
        Ok(Self {
            session: log.header.id.clone(),
            cwd: log.header.cwd.clone(),
            turns: log.events.iter().filter(|event| event.kind() == "turn/start").count(),
            calls: calls.iter().enumerate().map(|(index, call)| planned(index + 1, call)).collect(),
        })
    }
}

fn planned(number: usize, logged: &LoggedCall) -> PlannedCall {
    let call = &logged.call;
    PlannedCall {
        number,
        turn: call.turn,
        step: call.step,
        id: call.call_id.clone(),
        tool: call.name.clone(),
        arguments: call.arguments.clone(),
        subject: subject(&call.arguments),
        logged: logged.result.as_ref().map(|result| LoggedResult {
            content: result.text().unwrap_or_else(|| json(result.content())),
            is_error: result.is_error(),
            code: result.error.as_ref().map(|error| error.code.clone()),
        }),
    }
}

fn json(blocks: &[ContentBlock]) -> String {
    serde_json::to_string(blocks).unwrap_or_else(|error| error.to_string())
}

/// The value that says what a call does, if the arguments have nothing else that matters; else their text. They are
/// read as the tools will read them, so nothing else can be run than what is shown.
pub(crate) fn subject(arguments: &str) -> String {
    let Ok(Value::Object(map)) = parse_arguments(arguments) else { return arguments.to_owned() };
    let matters = |name: &str| !matches!(name, "description" | "timeoutMs");
    let mut relevant = map.iter().filter(|(name, _)| matters(name));
    match (relevant.next(), relevant.next()) {
        (Some((name, Value::String(text))), None) if matches!(name.as_str(), "command" | "file_path") => {
            text.clone()
        }
        _ => arguments.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::subject;

    #[test]
    fn the_command_or_the_file_stands_for_the_call_if_that_is_all() {
        assert_eq!(subject(r#"{"command":"ls\n-l","description":"x","timeoutMs":5}"#), "ls\n-l");
        assert_eq!(subject(r#"{"file_path":"a"}"#), "a");
        for text in [
            r#"{"command":"ls","workdir":"/x"}"#,
            r#"{"file_path":"a","limit":2}"#,
            "{",
            "[1]",
            r#"{"command":1}"#,
        ] {
            assert_eq!(subject(text), text);
        }
    }

    #[test]
    fn arguments_that_could_be_read_in_two_ways_are_shown_as_they_are() {
        let text = r#"{"command":"ls","command":"rm -r ."}"#;
        assert_eq!(subject(text), text);
    }
}
