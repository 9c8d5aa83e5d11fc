//! Why a log cannot be read, and why an event cannot be added to one.

use cordis::BoxError;
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
    #[error("sequence gap: expected seq {expected}, found {}", .found.map_or_else(|| "none".to_owned(), |found| found.to_string()))]
    SeqGap {
        /// The number of events read so far.
        expected: u64,
        /// The number that the line carries; none if it is none.
        found: Option<u64>,
    },
    /// A packed row does not have the shape of one.
    #[error("invalid packed row: {reason}")]
    BadRow {
        /// The field and what is wrong with it.
        reason: String,
    },
    /// The last line has no newline: it was cut while it was written.
    #[error("the line has no newline: it was cut while it was written")]
    Unended,
    /// The event cannot stand where it does.
    #[error("not allowed here: {reason}")]
    Misplaced {
        /// Why not.
        reason: String,
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

impl Problem {
    /// Whether the line can be read and is wrong all the same: no cut can explain that.
    pub(crate) fn is_misplaced(&self) -> bool {
        matches!(self, Self::Misplaced { .. } | Self::BadData { .. } | Self::BadEvent { .. })
    }
}

/// The data of an event is not what its type says.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid data of `{kind}` (seq {seq}): {reason}")]
pub struct BadData {
    /// The event's type.
    pub kind: String,
    /// Its number.
    pub seq: u64,
    /// What is wrong.
    pub reason: String,
}

/// Data that JSON, as every reader of a log understands it, cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the data of `{kind}` cannot be kept: {reason}")]
pub struct NotLossless {
    /// The event's type.
    pub kind: String,
    /// What cannot be kept.
    pub reason: String,
}

/// Why an event cannot be part of the conversation as it says.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SurfaceError {
    /// The event has the wrong number.
    #[error("expected seq {expected}, found {found}")]
    NotNext {
        /// The next number.
        expected: u64,
        /// The number that it has.
        found: u64,
    },
    /// The type is not part of the conversation.
    #[error("`{kind}` cannot carry a `surfaceOp`: it is not part of the conversation")]
    MarkNotAllowed {
        /// The type.
        kind: String,
    },
    /// The type is not part of the conversation.
    #[error("`{kind}` cannot carry `sourceEventSeqs`: it is not part of the conversation")]
    SourcesNotAllowed {
        /// The type.
        kind: String,
    },
    /// The type is part of the conversation.
    #[error("`{kind}` needs a `surfaceOp`: say `appended()` or `replacing(start, end)`")]
    NoMark {
        /// The type.
        kind: String,
    },
    /// Only an answer may come from nothing.
    #[error("`sourceEventSeqs` of a `{kind}` must not be empty")]
    SourcesEmpty {
        /// The type.
        kind: String,
    },
    /// A source is not before the event.
    #[error("`sourceEventSeqs` names {named}, which is not before {seq}")]
    SourceNotEarlier {
        /// The source.
        named: u64,
        /// The event.
        seq: u64,
    },
    /// A source is named twice.
    #[error("`sourceEventSeqs` names {named} twice")]
    SourceTwice {
        /// The source.
        named: u64,
    },
    /// The first event to be replaced is not part of the conversation now.
    #[error("the replacement starts at {start}, which is not part of the conversation now")]
    StartNotFound {
        /// The event.
        start: u64,
    },
    /// The last event to be replaced is not part of the conversation now.
    #[error("the replacement ends at {end}, which is not part of the conversation now")]
    EndNotFound {
        /// The event.
        end: u64,
    },
    /// The range ends before it starts.
    #[error("the replacement starts at {start}, which comes after its end {end}")]
    Reversed {
        /// The first event.
        start: u64,
        /// The last event.
        end: u64,
    },
    /// Not all that is replaced is named as a source.
    #[error("`sourceEventSeqs` of a replacement must name all that it replaces: {missing:?} missing")]
    SourcesMissing {
        /// What is not named.
        missing: Vec<u64>,
    },
    /// A tool result takes the place of something else than one tool result.
    #[error("a `tool/result` can only take the place of exactly one `tool/result`")]
    ResultReplacesOther,
    /// A tool result changes more than what the model reads.
    #[error("a `tool/result` in the place of {seq} may differ from it in nothing but what the model reads")]
    ResultChanges {
        /// The result that it would replace.
        seq: u64,
    },
}

/// A header that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid session header: {reason}")]
pub struct BadHeader {
    /// The field and what is wrong with it.
    pub reason: String,
}

/// Why a session cannot be made from its header and seed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SeedError {
    /// The header cannot be.
    #[error(transparent)]
    Header(BadHeader),
    /// An event of the seed cannot stand where it does.
    #[error("the seed is invalid at seq {seq} (`{kind}`): {reason}")]
    Event {
        /// The event's number.
        seq: u64,
        /// Its type.
        kind: String,
        /// What is wrong.
        reason: String,
    },
}

/// Why an event was not added. The session is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The type was given up before the format's first version.
    #[error("session `{session}`: {reason}")]
    Legacy {
        /// The session.
        session: String,
        /// Which one.
        reason: String,
    },
    /// The caller is inside of another append of the session: it observes, or validates, an event of it.
    #[error(
        "session `{session}`: an observer cannot append to the session that it observes; do it later, from a task"
    )]
    Reentrant {
        /// The session.
        session: String,
    },
    /// The caller observes another session, and cannot wait until whoever appends to this one is done.
    #[error(
        "session `{session}` is being appended to elsewhere, and an observer of another session cannot wait for that; \
         do it later, from a task"
    )]
    Contended {
        /// The session.
        session: String,
    },
    /// The event cannot be part of the conversation as it says.
    #[error("session `{session}`: `{kind}` cannot be added")]
    Surface {
        /// The session.
        session: String,
        /// The event's type.
        kind: String,
        /// Why not.
        #[source]
        source: SurfaceError,
    },
    /// The turn that it belongs to is not open any more.
    #[error("session `{session}`: `{kind}` cannot be added to a turn that has ended")]
    TurnEnded {
        /// The session.
        session: String,
        /// The event's type.
        kind: String,
    },
    /// A validator refused it.
    #[error("session `{session}`: `{kind}` was refused")]
    Refused {
        /// The session.
        session: String,
        /// The event's type.
        kind: String,
        /// Why.
        #[source]
        source: BoxError,
    },
}

fn advice(found: i64, supported: i64) -> &'static str {
    if found > supported {
        "; the log is newer, upgrade to read it"
    } else {
        "; the log is older and cannot be upgraded"
    }
}
