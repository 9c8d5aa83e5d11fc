//! Requests as lines.

use dsh_testkit::Request;
use serde_json::Value;

use crate::masked::Masks;

/// Headers that tell the server something.
const HEADERS: [&str; 7] = [
    "accept",
    "authorization",
    "content-type",
    "user-agent",
    "x-deepseek-harness-compact",
    "x-deepseek-harness-session-id",
    "x-deepseek-harness-user-id",
];

/// What a model was asked.
#[derive(Debug)]
pub(crate) struct Asked {
    path: String,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Asked {
    /// One from the log of a server.
    pub(crate) fn logged(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).unwrap();
        let headers = line["headers"].as_object().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            path: text(&line["path"]),
            headers: headers.map(|(name, value)| (name.clone(), text(value))).collect(),
            body: line["body"].clone(),
        }
    }

    pub(crate) fn body(&self) -> &Value {
        &self.body
    }

    fn header_lines(&self, masks: &Masks) -> Vec<String> {
        let header = |wanted: &&str| {
            let found = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            let (_, value) = found?;
            Some(match *wanted {
                "user-agent" => format!("header {wanted}: <agent>"),
                "x-deepseek-harness-user-id" => format!("header {wanted}: <user, {} bytes>", value.len()),
                _ => format!("header {wanted}: {}", masks.text(value)),
            })
        };
        HEADERS.iter().filter_map(header).collect()
    }

    fn messages(&self, masks: &Masks) -> Vec<String> {
        let mut messages = self.body["messages"].as_array().cloned().unwrap_or_default();
        for message in messages.iter_mut().filter(|message| message["role"] == "system") {
            message["content"] = "<system>".into();
        }
        messages.iter().map(|message| masks.line(message)).collect()
    }
}

impl From<Request> for Asked {
    fn from(request: Request) -> Self {
        assert_eq!(request.unexpected, None);
        Self { body: request.json(), path: request.path, headers: request.headers }
    }
}

/// The requests that offer tools, and those beside them. What a request has in common with the one before is not told again.
pub(crate) fn lines(requests: &[Asked], masks: &Masks) -> (Vec<String>, Vec<String>) {
    let (turns, beside): (Vec<&Asked>, Vec<&Asked>) =
        requests.iter().partition(|request| request.body["tools"].is_array());
    let (mut lines, mut before) = (Vec::new(), Told::default());
    for (number, request) in turns.into_iter().enumerate() {
        let now = Told::of(request, masks);
        lines.extend(now.after(&before).into_iter().map(|line| format!("request {number} {line}")));
        before = now;
    }
    let beside = beside.into_iter().map(|request| {
        let settings = settings(&request.body, masks).join(", ");
        format!("request beside the turn: {} messages, {settings}", request.messages(masks).len())
    });
    (lines, beside.collect())
}

/// What there is to tell about a request.
#[derive(Default)]
struct Told {
    settings: Vec<String>,
    messages: Vec<String>,
}

impl Told {
    fn of(request: &Asked, masks: &Masks) -> Self {
        let mut told = vec![format!("to {}", request.path)];
        told.extend(request.header_lines(masks));
        told.extend(settings(&request.body, masks));
        Self { settings: told, messages: request.messages(masks) }
    }

    fn after(&self, before: &Self) -> Vec<String> {
        let mut lines = match self.settings == before.settings {
            true => vec!["has the settings and tools of the one before".to_owned()],
            false => self.settings.clone(),
        };
        let kept = self.messages.iter().zip(&before.messages).take_while(|(now, before)| now == before);
        let kept = kept.count();
        lines.push(match before.messages.len() {
            all if all == kept => "begins with all messages of the one before".to_owned(),
            all => format!("begins with {kept} of the {all} messages of the one before"),
        });
        lines.extend(self.messages[kept..].iter().map(|message| format!("message {message}")));
        lines
    }
}

/// All of a body but its messages; of tools, whose descriptions each program words itself, the names.
fn settings(body: &Value, masks: &Masks) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in body.as_object().unwrap() {
        match name.as_str() {
            "messages" => {}
            "tools" => lines.extend(
                value
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|tool| format!("tool {}", tool["function"]["name"].as_str().unwrap())),
            ),
            _ => lines.push(format!("{name} {}", masks.line(value))),
        }
    }
    lines
}
