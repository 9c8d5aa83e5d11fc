//! The API key: read from the environment for each call, and never shown.

use std::ffi::OsString;
use std::fmt;

use dsh_llm::{LlmError, code};
use reqwest::header::HeaderValue;
use thiserror::Error;

/// What stands where a key stood.
const REDACTED: &str = "[API key]";
/// The shortest text that is looked for: a shorter one is no key, and would be found in everything.
const SHORTEST: usize = 6;

/// An API key. It is not printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

/// There is no key to ask with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NoKey {
    /// The variable is not set, or empty.
    #[error(
        "there is no API key: set {variable} in the environment that this program is started from (a server that needs no key takes any word), or name another variable by `apiKeyEnv` in the configuration of llm-deepseek"
    )]
    Missing {
        /// The variable.
        variable: String,
    },
    /// The variable holds blanks only.
    #[error("the API key in {variable} is blank: set it to the key alone")]
    Blank {
        /// The variable.
        variable: String,
    },
    /// The variable holds what no key has in it.
    #[error(
        "the API key in {variable} has a character that no HTTP header can carry, perhaps a blank or a quote that was copied with it: set it to the key alone"
    )]
    Illegal {
        /// The variable.
        variable: String,
    },
}

impl Key {
    /// Takes what a variable holds. Blanks around the key are dropped.
    pub(crate) fn parse(value: Option<OsString>, variable: &str) -> Result<Self, NoKey> {
        let variable = || variable.to_owned();
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return Err(NoKey::Missing { variable: variable() });
        };
        let Some(text) = value.to_str() else { return Err(NoKey::Illegal { variable: variable() }) };
        let key = text.trim();
        if key.is_empty() {
            return Err(NoKey::Blank { variable: variable() });
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(NoKey::Illegal { variable: variable() });
        }
        Ok(Self(key.to_owned()))
    }

    /// The value of the header `authorization`, marked so that nothing prints it. None cannot be: a key is printable ASCII.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The same error without the key, which a server may have sent back, also where only the beginning of it is left.
    pub(crate) fn redacted(&self, error: LlmError) -> LlmError {
        if self.0.len() < SHORTEST || self.hidden(&format!("{error:?}")).is_none() {
            return error;
        }
        let hide = |text: &str| self.hidden(text).unwrap_or_else(|| text.to_owned());
        let mut failure = error.failure().clone();
        failure.message = hide(&failure.message);
        failure.code = hide(&failure.code);
        failure.request_id = failure.request_id.map(|id| hide(&id));
        // The cause is left out: it is what the key was found in, or may be.
        LlmError::try_from(failure).unwrap_or_else(|_| LlmError::new(code::UNKNOWN, REDACTED))
    }
}

impl Key {
    /// The text without the key, or the first half of it and more; none if it is not there. What is printed for debugging has
    /// some characters escaped, once or twice.
    fn hidden(&self, text: &str) -> Option<String> {
        let once: String = self.0.escape_debug().collect();
        let twice: String = once.escape_debug().collect();
        let mut hidden = None;
        for key in [&self.0, &once, &twice] {
            let half = &key[..SHORTEST.max(key.len() / 2)];
            let mut rest = hidden.take().unwrap_or_else(|| text.to_owned());
            let mut clean = String::new();
            let mut is_found = rest != text;
            while let Some(at) = rest.find(half) {
                let same =
                    rest[at..].bytes().zip(key.bytes()).take_while(|(one, other)| one == other).count();
                clean.push_str(&rest[..at]);
                clean.push_str(REDACTED);
                rest = rest[at + same..].to_owned();
                is_found = true;
            }
            clean.push_str(&rest);
            hidden = is_found.then_some(clean);
        }
        hidden
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(_)")
    }
}

impl From<NoKey> for LlmError {
    fn from(error: NoKey) -> Self {
        let code = match &error {
            NoKey::Missing { .. } => code::MISSING_CREDENTIAL,
            NoKey::Blank { .. } | NoKey::Illegal { .. } => code::INVALID_CREDENTIAL,
        };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-hunter2";

    fn parsed(value: &str) -> Result<Key, NoKey> {
        Key::parse(Some(value.into()), "MY_KEY")
    }

    // spec: llm/S29, llm/S50
    #[test]
    fn a_key_is_trimmed_and_what_cannot_be_one_names_its_variable() {
        assert_eq!(parsed(" \t sk-hunter2\n").unwrap(), Key(KEY.to_owned()));
        let variable = || "MY_KEY".to_owned();
        assert_eq!(Key::parse(None, "MY_KEY").unwrap_err(), NoKey::Missing { variable: variable() });
        assert_eq!(parsed("").unwrap_err(), NoKey::Missing { variable: variable() });
        assert_eq!(parsed("  \n").unwrap_err(), NoKey::Blank { variable: variable() });
        for illegal in ["sk hunter2", "sk-hünter2", "sk-\u{7f}", "sk\n-hunter2"] {
            let error = parsed(illegal).unwrap_err();
            assert_eq!(error, NoKey::Illegal { variable: variable() }, "{illegal:?}");
            assert!(!error.to_string().contains("hunter") && error.to_string().contains("MY_KEY"));
        }
    }

    // spec: llm/S29
    #[test]
    fn a_key_is_not_printed_wherever_it_stands() {
        let key = parsed(KEY).unwrap();
        let header = key.authorization().unwrap();
        assert_eq!(header.as_bytes(), b"Bearer sk-hunter2");
        assert!(!format!("{key:?}{header:?}").contains("hunter2"));

        let failed =
            LlmError::new(code::AUTH, "the key sk-hunter2 is unknown").with_source("body: sk-hunter2");
        let redacted = key.redacted(failed);
        assert_eq!(redacted.to_string(), "the key [API key] is unknown");
        assert!(!format!("{redacted:?}").contains("hunter2"));
    }

    // spec: llm/S29
    #[test]
    fn a_key_with_quotes_is_not_printed_and_neither_is_most_of_one() {
        for text in ["\"sk-hunter2\"", "sk\\hunter2'x", "sk-hunter2"] {
            let key = parsed(text).unwrap();
            let echoed = format!("{{\"key\": {}}}", serde_json::Value::from(text));
            let cut = format!("the body: {}", &text[..text.len() - 2]);
            for said in [text.to_owned(), echoed, cut] {
                let error = LlmError::new(code::AUTH, format!("no: {said}")).with_source(said.clone());
                let redacted = format!("{:?}", key.redacted(error));
                assert!(!redacted.contains("hunter"), "{text} in {said}: {redacted}");
            }
            let causes = LlmError::new(code::AUTH, "no").with_source(format!("it was {text}"));
            assert!(!format!("{:?}", key.redacted(causes)).contains("hunter"));
        }
    }

    #[test]
    fn an_error_without_the_key_keeps_its_cause() {
        let key = parsed(KEY).unwrap();
        let kept = key.redacted(LlmError::new(code::SERVER, "oops").with_source("the body"));
        assert_eq!(std::error::Error::source(&kept).unwrap().to_string(), "the body");
    }
}
