//! The headers of a request.

use dsh_llm::{ModelRequest, Purpose};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};

use crate::credentials::Key;

/// The random id of this installation.
const USER_ID: &str = "x-deepseek-harness-user-id";
/// The session that asks.
const SESSION_ID: &str = "x-deepseek-harness-session-id";
/// Says that a conversation is summed up.
const COMPACT: &str = "x-deepseek-harness-compact";
/// What this program is called where the configuration does not say.
const PRODUCT: &str = concat!("dsh/", env!("CARGO_PKG_VERSION"));

/// Everything that is sent above the body, in the reference's order.
pub(crate) fn headers(
    request: &ModelRequest,
    key: &Key,
    user_agent: Option<&str>,
    user_id: Option<&str>,
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    let session = request.session_id.as_deref().and_then(latin_1);
    let user_agent = user_agent.and_then(|agent| HeaderValue::from_str(agent).ok());
    let compaction = matches!(request.purpose, Some(Purpose::Compaction));
    let given = [
        (AUTHORIZATION, key.authorization()),
        (CONTENT_TYPE, Some(HeaderValue::from_static("application/json"))),
        (ACCEPT, Some(HeaderValue::from_static("text/event-stream"))),
        (USER_AGENT, Some(user_agent.unwrap_or(HeaderValue::from_static(PRODUCT)))),
        (HeaderName::from_static(USER_ID), user_id.and_then(|id| HeaderValue::from_str(id).ok())),
        (HeaderName::from_static(SESSION_ID), session),
        (HeaderName::from_static(COMPACT), compaction.then(|| HeaderValue::from_static("1"))),
    ];
    headers.extend(given.into_iter().filter_map(|(name, value)| Some((name, value?))));
    headers
}

/// A text as a header carries it, one byte for a character; none if it cannot.
fn latin_1(text: &str) -> Option<HeaderValue> {
    let bytes: Option<Vec<u8>> = text.chars().map(|character| u8::try_from(character).ok()).collect();
    HeaderValue::from_bytes(&bytes?).ok()
}
