//! Why a log cannot be read.

use thiserror::Error;

/// Says which line of a log is wrong, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct ReadError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

/// What can be wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The log holds nothing at all.
    #[error("the log is empty: a session header is expected")]
    Empty,
    /// The bytes are a zstd container, not lines.
    #[error("the log is compressed with zstd: unpack it first (`zstd -d FILE`)")]
    Compressed,
    /// The line's bytes are not UTF-8.
    #[error("not valid UTF-8 (byte {column} of the line)")]
    NotUtf8 {
        /// The first wrong byte, counted from 1.
        column: usize,
    },
    /// The line is not one JSON object.
    #[error("not a JSON object: {reason}")]
    NotJson {
        /// What the parser expected, and where.
        reason: String,
    },
    /// The first line is something else than a session header.
    #[error("not a session header: the first line of a log has `\"type\": \"session\"`")]
    NotAHeader,
    /// The header names a format version that this reader does not know.
    #[error("unsupported log format version {found}: this build reads {supported}{}", advice(*.found, *.supported))]
    UnsupportedVersion {
        /// The version that the header names.
        found: i64,
        /// The version that this build reads.
        supported: i64,
    },
    /// A field of the header is missing or wrong.
    #[error("invalid session header: {reason}")]
    BadHeader {
        /// The field and what is wrong with it.
        reason: String,
    },
    /// A field of the event's envelope is missing or wrong.
    #[error("invalid event: {reason}")]
    BadEvent {
        /// The field and what is wrong with it.
        reason: String,
    },
    /// The data of an event does not have the shape that its type demands.
    #[error("invalid data of `{kind}`: {reason}")]
    BadData {
        /// The event's type.
        kind: String,
        /// The field and what is wrong with it.
        reason: String,
    },
    /// The event is not the next one.
    #[error("sequence gap: expected seq {expected}, found {found}")]
    SeqGap {
        /// The number of events read so far.
        expected: u64,
        /// The number that the line carries.
        found: u64,
    },
    /// The event's type is unknown and the event may not be skipped.
    #[error("unsupported event type `{kind}` (seq {seq}): the log needs it, as it is not `ignorable`")]
    UnknownEventType {
        /// The type.
        kind: String,
        /// The event's number.
        seq: u64,
    },
}

impl Problem {
    /// Whether the log is sound but made by something that this build does not know.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::UnsupportedVersion { .. } | Self::UnknownEventType { .. })
    }
}

fn advice(found: i64, supported: i64) -> &'static str {
    if found > supported {
        "; the log is newer, upgrade to read it"
    } else {
        "; the log is older and cannot be upgraded"
    }
}
