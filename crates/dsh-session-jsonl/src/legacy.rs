//! Shapes that the format had before its first version, read as what became of them.
//!
//! Lines stay lines, in the same order; only the text that is parsed is another one. What looks like an old shape and is
//! not quite one is malformed: guessing would change a conversation in silence.
//!
//! Source: the imports of the reference's persistence.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// A log's text with current shapes only.
pub(crate) struct Current<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The first line with an old shape that cannot be read.
    pub(crate) malformed: Option<Malformed>,
}

pub(crate) struct Malformed {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// Reads old shapes as what became of them.
pub(crate) fn current(text: &str) -> Current<'_> {
    let mut current = Current { text: Cow::Borrowed(text), malformed: None };
    let mut id = None;
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if index == 0 {
            id = id_of(line);
        } else if let (Some(kind), Some(id)) = (suspect(line), id.as_deref()) {
            match import(kind, line, id, &current.text) {
                Ok(None) => {}
                Ok(Some(imported)) => {
                    // From here on the text is a copy, which ends where this line begins.
                    let copy = match std::mem::take(&mut current.text) {
                        Cow::Borrowed(_) => text[..at].to_owned(),
                        Cow::Owned(copy) => copy,
                    };
                    current.text = Cow::Owned(copy + &imported + ending(line));
                    at += line.len();
                    continue;
                }
                Err(what) => {
                    current.malformed.get_or_insert(Malformed { line: index + 1, what });
                }
            }
        }
        if let Cow::Owned(copy) = &mut current.text {
            copy.push_str(line);
        }
        at += line.len();
    }
    current
}

fn ending(line: &str) -> &'static str {
    if line.ends_with('\n') { "\n" } else { "" }
}

fn id_of(header: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    serde_json::from_str(header).ok().map(|Id { id }| id)
}

/// The types of which there are old shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Steering,
    TurnStart,
    TurnEnd,
    User,
    Assistant,
    ToolResult,
}

/// Which old shape a line may have. Most lines are seen to have none without being parsed.
fn suspect(line: &str) -> Option<Kind> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        data: IgnoredAny,
    }
    if !["turn/", "/message", "tool/result"].iter().any(|part| line.contains(part)) {
        return None;
    }
    let head: Head<'_> = serde_json::from_str(line).ok()?;
    let IgnoredAny = head.data;
    Some(match &*head.kind {
        "steering/message" => Kind::Steering,
        "turn/start" => Kind::TurnStart,
        "turn/end" => Kind::TurnEnd,
        "user/message" => Kind::User,
        "assistant/message" => Kind::Assistant,
        "tool/result" => Kind::ToolResult,
        _ => return None,
    })
}

/// The line in its current shape; none if it has that already. `before` is the text before it, and maybe more.
fn import(kind: Kind, line: &str, id: &str, before: &str) -> Result<Option<String>, String> {
    if !may_be_old(kind, line) {
        return Ok(None);
    }
    let Ok(mut event) = serde_json::from_str::<Object>(line) else { return Ok(None) };
    let Some(seq) = event.get("seq").and_then(Value::as_u64) else { return Ok(None) };
    let data = event.get("data").and_then(Value::as_object).cloned();
    let malformed = |name: &str| format!("an old `{name}` of a shape that was never written (seq {seq})");
    let new_id = format!("legacy-message:{id}:{seq}");
    let imported = match (kind, data) {
        (Kind::Steering, data) => {
            event.insert("type".to_owned(), json!("user/message"));
            Some(data.and_then(|data| steering(data, &new_id)).ok_or_else(|| malformed("steering/message"))?)
        }
        (_, None) => None,
        (Kind::TurnStart, Some(data)) => turn_start(&data).map_err(|Old| malformed("turn/start"))?,
        (Kind::TurnEnd, Some(data)) => turn_end(data).map_err(|Old| malformed("turn/end"))?,
        (Kind::User, Some(data)) => user(data, &new_id),
        (Kind::Assistant, Some(data)) => assistant(data, &new_id),
        (Kind::ToolResult, Some(data)) => {
            let replaced = event.get("surfaceOp").and_then(|op| op.get("start")).and_then(Value::as_u64);
            let inherited = || replaced.map_or(Some(new_id.clone()), |seq| message_id(before, seq));
            tool_result(data, inherited)
        }
    };
    let Some(data) = imported else { return Ok(None) };
    event.insert("data".to_owned(), Value::Object(data));
    serde_json::to_string(&event).map(Some).map_err(|error| error.to_string())
}

/// A shape that is old, but not one that was ever written.
struct Old;

/// A look at the names of the fields alone: messages may be long, and are nearly always current.
fn may_be_old(kind: Kind, line: &str) -> bool {
    #[derive(Deserialize)]
    struct Line {
        data: Fields,
    }
    #[derive(Deserialize)]
    struct Fields {
        id: Option<IgnoredAny>,
        message: Option<IgnoredAny>,
    }
    match kind {
        Kind::Steering | Kind::TurnStart | Kind::TurnEnd => true,
        Kind::User => serde_json::from_str::<Line>(line).is_ok_and(|line| line.data.id.is_none()),
        Kind::Assistant | Kind::ToolResult => {
            serde_json::from_str::<Line>(line).is_ok_and(|line| line.data.message.is_none())
        }
    }
}

fn steering(mut data: Object, id: &str) -> Option<Object> {
    data.get("turn").filter(|turn| is_whole(turn))?;
    if has_only(&data, &["turn", "message"], &[])
        && let Some(Value::Object(message)) = data.get("message")
    {
        return Some(message.clone());
    }
    if !has_only(&data, &["turn", "content", "source"], &[]) {
        return None;
    }
    data.shift_remove("turn");
    identify(&mut data, id, "user");
    Some(data)
}

fn turn_start(data: &Object) -> Result<Option<Object>, Old> {
    let Some(trigger) = data.get("trigger") else { return Ok(None) };
    let named = trigger.get("kind").and_then(Value::as_str).is_some_and(|kind| !kind.is_empty());
    match data.get("turn").filter(|turn| is_counted(turn)) {
        Some(turn) if named && has_only(data, &["turn", "trigger"], &[]) => {
            Ok(Some(Object::from_iter([("turn".to_owned(), turn.clone())])))
        }
        _ => Err(Old),
    }
}

fn turn_end(mut data: Object) -> Result<Option<Object>, Old> {
    if !has_only(&data, &["turn", "reason"], &[]) || !data.get("turn").is_some_and(is_counted) {
        return Err(Old);
    }
    let Some(reason) = data.get("reason").and_then(Value::as_object) else { return Err(Old) };
    let bare = has_only(reason, &["kind"], &[]);
    let new = match reason.get("kind").and_then(Value::as_str).ok_or(Old)? {
        "completed" | "blocked" | "max-tokens" | "interrupted" => {
            return if bare { Ok(None) } else { Err(Old) };
        }
        "aborted" if reason.contains_key("reason") => return Ok(None),
        "aborted" if bare => json!({"kind": "aborted", "reason": {"kind": "legacy"}}),
        "disposed" if bare => json!({"kind": "aborted", "reason": {"kind": "disposed"}}),
        "aborted" | "disposed" => return Err(Old),
        "error" if reason.contains_key("error") => return Ok(None),
        "error" => json!({"kind": "error", "error": failure(reason).ok_or(Old)?}),
        _ => return Ok(None),
    };
    data.insert("reason".to_owned(), new);
    Ok(Some(data))
}

/// What went wrong, from the two ways in which it was written: as an object, or as a message and a code beside the step.
fn failure(reason: &Object) -> Option<Value> {
    let step = reason.get("step")?;
    if !is_whole(step) || step.as_f64()? < 0.0 {
        return None;
    }
    let text = |object: &Object, name: &str| object.get(name).is_some_and(Value::is_string);
    if let Some(Value::Object(failure)) = reason.get("failure") {
        let optional = |name: &str, is: fn(&Value) -> bool| failure.get(name).is_none_or(is);
        let sound = has_only(reason, &["kind", "step", "failure"], &[])
            && has_only(failure, &["message", "code"], &["status", "providerRetryAfterMs", "requestId"])
            && text(failure, "message")
            && text(failure, "code")
            && optional("status", Value::is_number)
            && optional("providerRetryAfterMs", Value::is_number)
            && optional("requestId", Value::is_string);
        return sound.then(|| Value::Object(failure.clone()));
    }
    let sound = has_only(reason, &["kind", "step", "message"], &["code"])
        && text(reason, "message")
        && reason.get("code").is_none_or(Value::is_string);
    let code = || reason.get("code").cloned().unwrap_or_else(|| json!("UNKNOWN"));
    sound.then(|| json!({"message": reason.get("message"), "code": code()}))
}

fn user(mut data: Object, id: &str) -> Option<Object> {
    if !has(&data, &["content", "source"]) || has_any(&data, &["id", "role", "message"]) {
        return None;
    }
    identify(&mut data, id, "user");
    Some(data)
}

fn assistant(mut data: Object, id: &str) -> Option<Object> {
    if !has(&data, &["content", "provenance"]) || data.contains_key("message") {
        return None;
    }
    let content = data.shift_remove("content")?;
    let mut source = match data.shift_remove("provenance")? {
        Value::Object(source) => source,
        _ => Object::new(),
    };
    source.insert("kind".to_owned(), json!("model"));
    data.insert(
        "message".to_owned(),
        json!({"id": id, "role": "assistant", "content": content, "source": source}),
    );
    Some(data)
}

fn tool_result(mut data: Object, id: impl Fn() -> Option<String>) -> Option<Object> {
    if !has(&data, &["callId", "content", "isError"]) || data.contains_key("message") {
        return None;
    }
    let call = data.shift_remove("callId")?;
    let content = data.shift_remove("content")?;
    let is_error = data.shift_remove("isError")?;
    let block = json!({"type": "tool-result", "toolCallId": call, "content": content, "isError": is_error});
    let message =
        json!({"id": id(), "role": "user", "content": [block], "source": {"kind": "tool", "callId": call}});
    data.insert("message".to_owned(), message);
    Some(data)
}

/// The id of the message that an earlier event holds.
fn message_id(before: &str, seq: u64) -> Option<String> {
    let lines = before.lines().skip(1).filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let event = lines.into_iter().find(|event| event.get("seq").and_then(Value::as_u64) == Some(seq))?;
    let data = event.get("data")?;
    let message = if event.get("type")? == "user/message" { data } else { data.get("message")? };
    message.get("id")?.as_str().map(str::to_owned)
}

fn identify(data: &mut Object, id: &str, role: &str) {
    data.insert("id".to_owned(), json!(id));
    data.insert("role".to_owned(), json!(role));
}

fn has(object: &Object, names: &[&str]) -> bool {
    names.iter().all(|name| object.contains_key(*name))
}

fn has_any(object: &Object, names: &[&str]) -> bool {
    names.iter().any(|name| object.contains_key(*name))
}

fn has_only(object: &Object, needed: &[&str], optional: &[&str]) -> bool {
    has(object, needed) && object.keys().all(|key| needed.contains(&&**key) || optional.contains(&&**key))
}

fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0)
}

fn is_counted(value: &Value) -> bool {
    is_whole(value) && value.as_f64().is_some_and(|number| number >= 1.0)
}
