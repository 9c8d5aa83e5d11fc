//! The first line of a log.

use dsh_llm::open::present;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::Problem;
use crate::json::{check_safe, object, reason};

/// The format version that this build reads and writes.
pub const FORMAT_VERSION: i64 = 0;

/// The header of a session: who it is and where it was started.
///
/// Source: the first line of `session.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    /// The session's id, never empty.
    pub id: String,
    /// When it was created, in milliseconds since the epoch.
    #[serde(rename = "createdAt")]
    pub created_at_ms: u64,
    /// The folder that it worked in, an absolute path of the machine that wrote the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The session that it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// How many leading events came from the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_length: Option<u64>,
    /// Where the session came from, if not from a user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// 0 for a user's session, its parent's depth + 1 for a subagent's.
    pub delegation_depth: u64,
    /// The composition that the agent was built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_preset: Option<String>,
}

/// Who started a session, if not a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Another agent.
    Subagent,
}

/// What is looked at before the version is known to be ours.
#[derive(Deserialize)]
struct Probe<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    id: String,
    created_at: u64,
    #[serde(default, deserialize_with = "present")]
    cwd: Option<String>,
    #[serde(default, deserialize_with = "present")]
    parent_session: Option<String>,
    #[serde(default, deserialize_with = "present")]
    seed_length: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    origin: Option<String>,
    delegation_depth: u64,
    #[serde(default, deserialize_with = "present")]
    agent_preset: Option<String>,
    #[serde(default, deserialize_with = "present")]
    sandbox_mode: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "present")]
    approval_policy: Option<IgnoredAny>,
}

impl SessionHeader {
    /// A header with nothing but an id and a time.
    pub fn new(id: impl Into<String>, created_at_ms: u64) -> Self {
        Self {
            id: id.into(),
            created_at_ms,
            cwd: None,
            parent_session: None,
            seed_length: None,
            origin: None,
            delegation_depth: 0,
            agent_preset: None,
        }
    }

    /// The first line of a log, without its newline.
    ///
    /// # Errors
    /// A field cannot be.
    pub fn to_line(&self) -> Result<String, String> {
        #[derive(Serialize)]
        struct Line<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            version: i64,
            #[serde(flatten)]
            header: &'a SessionHeader,
        }
        self.check()?;
        serde_json::to_string(&Line { kind: "session", version: FORMAT_VERSION, header: self })
            .map_err(|error| error.to_string())
    }

    /// Reads a header line. A foreign version is refused before anything else of the header is looked at.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Self, Problem> {
        let probe: Probe<'_> =
            serde_json::from_str(line).map_err(|error| Problem::NotJson { reason: reason(&error) })?;
        if probe.kind.map(RawValue::get) != Some("\"session\"") {
            return Err(Problem::NotAHeader);
        }
        let version = probe.version.ok_or_else(|| bad("`version` is missing"))?.get();
        match version.parse::<f64>() {
            Ok(0.0) => {}
            Ok(number) => {
                // Rounded away from 0, so that what is none of ours does not look like it.
                let found = if number < 0.0 { number.floor() } else { number.ceil() } as i64;
                return Err(Problem::UnsupportedVersion { found, supported: FORMAT_VERSION });
            }
            Err(_) => return Err(bad("`version` must be a whole number")),
        }
        let raw: Raw = object(line).map_err(|error| bad(reason(&error)))?;
        Self::from_raw(raw).map_err(bad)
    }

    fn from_raw(raw: Raw) -> Result<Self, String> {
        if raw.sandbox_mode.is_some() || raw.approval_policy.is_some() {
            return Err("`sandboxMode` and `approvalPolicy` are no longer part of it".to_owned());
        }
        let origin = match raw.origin.as_deref() {
            None => None,
            Some("subagent") => Some(Origin::Subagent),
            Some(other) => return Err(format!("`origin` must be `subagent`, not `{other}`")),
        };
        let header = Self {
            id: raw.id,
            created_at_ms: raw.created_at,
            cwd: raw.cwd,
            parent_session: raw.parent_session,
            seed_length: raw.seed_length,
            origin,
            delegation_depth: raw.delegation_depth,
            agent_preset: raw.agent_preset,
        };
        header.check()?;
        Ok(header)
    }

    /// Checks every field.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.id.is_empty() {
            return Err("`id` must not be empty".to_owned());
        }
        if let Some(cwd) = self.cwd.as_deref().filter(|cwd| !is_absolute(cwd)) {
            return Err(format!("`cwd` must be an absolute path, not `{cwd}`"));
        }
        for (name, value) in [
            ("createdAt", Some(self.created_at_ms)),
            ("seedLength", self.seed_length),
            ("delegationDepth", Some(self.delegation_depth)),
        ] {
            check_safe(name, value)?;
        }
        Ok(())
    }
}

/// Absolute on the machine that wrote the log, which may have been a Windows one.
fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    path.starts_with('/')
        || path.starts_with("\\\\")
        || (bytes.len() > 2
            && bytes[0].is_ascii_alphabetic()
            && bytes[1] == b':'
            && matches!(bytes[2], b'\\' | b'/'))
}

fn bad(reason: impl Into<String>) -> Problem {
    Problem::BadHeader { reason: reason.into() }
}
