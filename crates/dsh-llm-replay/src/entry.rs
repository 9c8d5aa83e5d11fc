//! One answer.

use std::path::PathBuf;

use dsh_llm::{LlmError, ModelRequest, StreamChunk};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::placeholder::filled;

/// One answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// These pieces.
    Chunks {
        /// The pieces, with their finish.
        chunks: Vec<StreamChunk>,
    },
    /// These pieces, and then a failure.
    Throw {
        /// The pieces before it.
        chunks: Vec<StreamChunk>,
        /// What it says.
        message: String,
        /// Its code.
        code: String,
    },
    /// The beginning of an answer that never goes on, until it is cancelled.
    Hang {
        /// A file that is made when it hangs.
        ready_file: Option<PathBuf>,
    },
}

/// The fields of an answer, besides its kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chunks {
    #[serde(deserialize_with = "exact")]
    chunks: Vec<StreamChunk>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Throw {
    #[serde(default, deserialize_with = "exact")]
    chunks: Vec<StreamChunk>,
    message: String,
    code: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Hang {
    #[serde(default)]
    ready_file: Option<PathBuf>,
}

/// Reads pieces that say nothing but what pieces of their types have; the rest would be lost.
fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<StreamChunk>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?;
    let mut chunks = Vec::new();
    for (place, value) in values.into_iter().enumerate() {
        let chunk: StreamChunk = serde_json::from_value(value.clone()).map_err(D::Error::custom)?;
        if serde_json::to_value(&chunk).map_err(D::Error::custom)? != value {
            return Err(D::Error::custom(format!(
                "piece {place} has a key that is none of its type, or of what is in it: {value}"
            )));
        }
        chunks.push(chunk);
    }
    Ok(chunks)
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // serde's own tagged enums cannot hold pieces of kinds that are not known.
        let mut fields = Map::<String, Value>::deserialize(deserializer)?;
        let kind = fields.remove("kind");
        let fields = Value::Object(fields);
        match kind.as_ref().and_then(Value::as_str) {
            Some("chunks") => serde_json::from_value(fields).map(|Chunks { chunks }| Self::Chunks { chunks }),
            Some("throw") => serde_json::from_value(fields)
                .map(|Throw { chunks, message, code }| Self::Throw { chunks, message, code }),
            Some("hang") => {
                serde_json::from_value(fields).map(|Hang { ready_file }| Self::Hang { ready_file })
            }
            _ => return Err(D::Error::custom("the `kind` of an answer is `chunks`, `throw` or `hang`")),
        }
        .map_err(D::Error::custom)
    }
}

impl Entry {
    fn chunks(&self) -> &[StreamChunk] {
        match self {
            Self::Chunks { chunks } | Self::Throw { chunks, .. } => chunks,
            Self::Hang { .. } => &[],
        }
    }

    /// The answer to a request.
    pub(crate) fn filled(self, request: &ModelRequest) -> Result<Self, LlmError> {
        match self {
            Self::Chunks { chunks } => Ok(Self::Chunks { chunks: filled(chunks, request)? }),
            Self::Throw { chunks, message, code } => {
                let (chunks, message) = filled((chunks, message), request)?;
                Ok(Self::Throw { chunks, message, code })
            }
            Self::Hang { ready_file } => Ok(Self::Hang { ready_file: filled(ready_file, request)? }),
        }
    }

    /// The type of a piece that this build does not know.
    pub(crate) fn unknown(&self) -> Option<String> {
        self.chunks().iter().find_map(|chunk| match chunk {
            StreamChunk::Other(chunk) => Some(chunk.to_string()),
            _ => None,
        })
    }
}
