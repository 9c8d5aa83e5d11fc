//! An error that a server tells of in the middle of an answer.

use dsh_llm::{LlmError, code};
use serde_json::Value;

use crate::wording::{is_context_overflow, is_quota};

/// The error that an event tells of; none for what tells of nothing.
pub(crate) fn reported(text: &str) -> Option<LlmError> {
    let error: Value = serde_json::from_str(text).ok()?;
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = match &error {
        Value::String(message) if !message.is_empty() => message,
        Value::Object(_) => text("message").or_else(|| text("code")).or_else(|| text("type"))?,
        _ => return None,
    };
    let wording = [text("code"), text("type"), Some(message)].map(Option::unwrap_or_default).join(" ");
    let status = error.get("code").and_then(Value::as_u64).or_else(|| text("code")?.parse().ok());
    Some(LlmError::new(code_of(&wording, status), format!("the server broke the answer off: {message}")))
}

fn code_of(wording: &str, status: Option<u64>) -> &'static str {
    let has = |word: &str| wording.to_ascii_lowercase().contains(word);
    match status {
        _ if is_quota(wording) => code::QUOTA,
        _ if is_context_overflow(wording) => code::CONTEXT_WINDOW_EXCEEDED,
        Some(401 | 403) => code::AUTH,
        Some(429) => code::RATE_LIMIT,
        Some(400 | 413 | 422) => code::INVALID_REQUEST,
        _ if has("rate_limit") || has("rate limit") || has("too many requests") => code::RATE_LIMIT,
        _ if has("invalid_request") => code::INVALID_REQUEST,
        // The answer had begun: the request was fine.
        _ => code::SERVER,
    }
}
