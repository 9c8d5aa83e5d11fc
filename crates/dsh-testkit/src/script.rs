//! What a server is to do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// What a server is to do, request by request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The answers, in order; at least one.
    pub steps: Vec<Step>,
}

/// One answer: what it says, and what goes wrong with it. Everything may be left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Step {
    /// Which requests it is for.
    #[serde(rename = "for")]
    pub kind: For,
    /// The text.
    pub text: String,
    /// The reasoning before it.
    pub reasoning: String,
    /// The tool calls after it.
    pub calls: Vec<Call>,
    /// The finish reason; `tool_calls` or `stop` without it, and none at all for an empty one.
    pub finish: Option<String>,
    /// How many characters of text and reasoning are in one piece; all without it.
    pub chunk: Option<usize>,
    /// The usage beside the finish; 50 and 12 tokens without it, none for `null`.
    #[serde(deserialize_with = "given")]
    pub usage: Option<Value>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The body of an answer with another status than 200.
    pub body: Option<Value>,
    /// Headers besides those that the server writes.
    pub headers: BTreeMap<String, String>,
    /// The body, as it is; nothing else counts then.
    pub raw: Option<String>,
    /// How lines end.
    pub line_end: LineEnd,
    /// Whether the body begins with a byte order mark.
    pub bom: bool,
    /// Whether there is a comment before each event and in it.
    pub comments: bool,
    /// Whether each event is several lines of data.
    pub split_data: bool,
    /// Whether there is a blank after the colon; there is without this.
    pub no_space: bool,
    /// How the body says that it is over.
    pub done: Done,
    /// Whether the socket stays open after the body, which then has no end.
    pub keep_open: bool,
    /// How the end of the body is told.
    pub encoding: Encoding,
    /// How long the server waits before it answers, in ms.
    pub delay_ms: u64,
    /// Where the answer breaks off, counted in bytes of the body. One that is written at once breaks off within its chunk, one in
    /// pieces of [`write_bytes`](Self::write_bytes) between two.
    pub cut: Option<Cut>,
    /// Where the answer breaks off, counted in bytes of the head.
    pub cut_head: Option<Cut>,
    /// How slowly the body comes.
    pub drip: Option<Drip>,
    /// How many bytes of the body are written at once; all without it.
    pub write_bytes: Option<usize>,
    /// What the request must be like. Another one is answered with status 500 and remembered.
    pub expect: Expect,
}

/// Which requests a step is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum For {
    /// Those that offer tools.
    #[default]
    Tools,
    /// All.
    Any,
}

/// A tool call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// The arguments; a text is sent as it is.
    pub arguments: Value,
    /// The id; made up without it.
    #[serde(default)]
    pub id: Option<String>,
}

/// How lines end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineEnd {
    /// As on Unix.
    #[default]
    Lf,
    /// As on Windows.
    Crlf,
    /// As long ago.
    Cr,
}

/// How a body says that it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Done {
    /// `[DONE]` and a blank line.
    #[default]
    Full,
    /// `[DONE]` and the end of its line.
    NoBlankLine,
    /// `[DONE]` and nothing.
    NoLineEnd,
    /// Not at all.
    Missing,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// In chunks, one for each write.
    #[default]
    Chunked,
    /// By its length.
    Length,
    /// By the end of the connection.
    Close,
}

/// Where an answer breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// After how many bytes.
    pub at: usize,
    /// What happens then.
    #[serde(default)]
    pub how: How,
}

/// How an answer breaks off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// The connection is closed.
    #[default]
    Fin,
    /// The connection is reset.
    Reset,
    /// Nothing comes any more, until the client goes.
    Stall,
}

/// How slowly a body comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Drip {
    /// How many bytes at once.
    pub bytes: usize,
    /// How long apart, in ms.
    pub every_ms: u64,
}

/// What a request must be like.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Expect {
    /// Texts that its body must have.
    pub body_contains: Vec<String>,
}

/// A script that cannot be followed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {} cannot be read", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what a script is.
    #[error("the script is wrong at `{at}`: {source}")]
    Parse {
        /// Where.
        at: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It has no steps.
    #[error("the script has no steps: give `steps` at least one answer, such as {{\"text\": \"Hello\"}}")]
    Empty,
    /// Pieces of no size.
    #[error("step {step} of the script has a `{field}` of 0: it is at least 1")]
    Zero {
        /// The step, from 0.
        step: usize,
        /// The field.
        field: &'static str,
    },
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// It is no script; the message says where.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let script: Self = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            ScriptError::Parse { at: error.path().to_string(), source: error.into_inner() }
        })?;
        json.end().map_err(|source| ScriptError::Parse { at: "the end".to_owned(), source })?;
        script.check()?;
        Ok(script)
    }

    /// Reads a script from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no script.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Self::parse(&text)
    }

    /// A script of these steps.
    #[must_use]
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect() }
    }

    fn check(&self) -> Result<(), ScriptError> {
        if self.steps.is_empty() {
            return Err(ScriptError::Empty);
        }
        for (step, given) in self.steps.iter().enumerate() {
            let sizes = [
                ("chunk", given.chunk),
                ("writeBytes", given.write_bytes),
                ("drip.bytes", given.drip.map(|drip| drip.bytes)),
            ];
            if let Some((field, _)) = sizes.into_iter().find(|(_, size)| *size == Some(0)) {
                return Err(ScriptError::Zero { step, field });
            }
        }
        Ok(())
    }
}

/// A field that is there, `null` too.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
