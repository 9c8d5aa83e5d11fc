//! A server that answers with an error: what it says, as facts to decide by.

use std::time::SystemTime;

use dsh_llm::{LlmError, LlmFailure, code};
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::retry_after::retry_after_ms;
use crate::watch::Watch;
use crate::wording::{is_context_overflow, is_quota};

/// How much of an error's body is read; a longer one says nothing.
const MAX_BODY: usize = 1 << 20;
/// How much of it is kept as the cause.
const MAX_CAUSE: usize = 4_096;
/// Where servers put their own name for a request.
const REQUEST_IDS: [&str; 2] = ["x-request-id", "x-deepseek-request-id"];

/// What the body of an error says.
#[derive(Debug, Default, Deserialize)]
struct Body {
    error: Detail,
}

#[derive(Debug, Default, Deserialize)]
struct Detail {
    #[serde(default)]
    message: Value,
    #[serde(default)]
    code: Value,
    #[serde(default, rename = "type")]
    kind: Value,
}

impl Detail {
    /// What the server says to people.
    fn message(&self) -> Option<&str> {
        self.message.as_str().filter(|message| !message.is_empty())
    }

    /// All that tells what is meant.
    fn wording(&self) -> String {
        let texts = [&self.code, &self.kind, &self.message].map(|text| text.as_str().unwrap_or_default());
        texts.join(" ")
    }
}

/// Reads the body of an error and says what it means; of a body that cannot be read, what the status means.
///
/// # Errors
/// None but the one that is the result: the call has failed in any case.
pub(crate) async fn refusal(
    mut response: Response,
    endpoint: &Endpoint,
    key_env: &str,
    watch: &mut Watch,
) -> LlmError {
    let mut body = Vec::new();
    loop {
        match watch.limit(response.chunk()).await {
            Err(timeout) => return timeout,
            Ok(Ok(Some(bytes))) if body.len() + bytes.len() <= MAX_BODY => {
                body.extend_from_slice(&bytes);
                watch.rearm();
            }
            Ok(Ok(Some(_)) | Err(_)) => {
                body.clear();
                break;
            }
            Ok(Ok(None)) => break,
        }
    }
    let said = Said { status: response.status(), headers: response.headers(), body: &body };
    said.error(endpoint, key_env, SystemTime::now())
}

struct Said<'a> {
    status: StatusCode,
    headers: &'a HeaderMap,
    body: &'a [u8],
}

impl Said<'_> {
    fn error(&self, endpoint: &Endpoint, key_env: &str, now: SystemTime) -> LlmError {
        let detail = serde_json::from_slice::<Body>(self.body).unwrap_or_default().error;
        let code = code(self.status.as_u16(), &detail.wording());
        let message = self.message(&detail, &code, endpoint, key_env);
        let failure = LlmFailure {
            message: message.clone(),
            code: code.clone(),
            status: Some(self.status.as_u16()),
            provider_retry_after_ms: retry_after_ms(self.headers, now),
            request_id: self.request_id(),
        };
        // A status past 599 is none of HTTP: that server is broken, and nothing else it says counts.
        let error = LlmError::try_from(failure).unwrap_or_else(|_| LlmError::new(code::TRANSPORT, message));
        if self.body.is_empty() {
            return error;
        }
        let cause = &self.body[..self.body.len().min(MAX_CAUSE)];
        error.with_source(format!("the server said: {}", String::from_utf8_lossy(cause)))
    }

    /// What the server says, and what to do where that does not tell.
    fn message(&self, detail: &Detail, code: &str, endpoint: &Endpoint, key_env: &str) -> String {
        let status = self.status.as_u16();
        let remedy = match (code, status) {
            (code::AUTH, _) => format!("check the key in {key_env}, and that it is one for {endpoint}"),
            (_, 404) => format!("{endpoint} is not there, or has no such model: check baseURL and the model"),
            _ => String::new(),
        };
        match (detail.message(), remedy.as_str()) {
            (Some(message), "") => message.to_owned(),
            (Some(message), remedy) => format!("{message} ({remedy})"),
            (None, "") => format!("{endpoint} answered with an error (HTTP {status}) and does not say why"),
            (None, remedy) => format!("{endpoint} answered with an error (HTTP {status}): {remedy}"),
        }
    }

    fn request_id(&self) -> Option<String> {
        let value =
            |name: &&str| Some(String::from_utf8_lossy(self.headers.get(*name)?.as_bytes()).into_owned());
        REQUEST_IDS.iter().filter_map(value).find(|id| !id.is_empty())
    }
}

/// The code of an answer. The account's end is told by words, since servers say it with any status.
fn code(status: u16, wording: &str) -> String {
    let code = match status {
        401 | 403 => code::AUTH,
        413 => code::INVALID_REQUEST,
        _ if is_quota(wording) => code::QUOTA,
        429 => code::RATE_LIMIT,
        400 if is_context_overflow(wording) => code::CONTEXT_WINDOW_EXCEEDED,
        400 => code::INVALID_REQUEST,
        500.. => code::SERVER,
        status => return format!("HTTP_{status}"),
    };
    code.to_owned()
}
