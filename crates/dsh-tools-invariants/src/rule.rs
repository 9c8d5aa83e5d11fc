//! What calls and logs keep to, and how it is told that they do not.

use thiserror::Error;

/// A rule of tool calls that does not hold.
///
/// Source: the texts of the reference's checker, except for [`Rule::ResultRepeated`] and [`Rule::Readable`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Rule {
    /// Policies are asked once about an execution, and before anything else.
    #[error("tools/pre-execute repeated for one execution")]
    PreExecuteRepeated,
    /// The body runs once policies were asked, in one dispatch of its wrappers.
    #[error("tools/execute must follow tools/pre-execute")]
    ExecuteOutOfPlace,
    /// An outcome is looked at once, of a call that policies were asked about.
    #[error("tools/post-execute must follow tools/pre-execute or tools/execute")]
    PostExecuteOutOfPlace,
    /// What came of an execution is told once.
    #[error("tools/result repeated for one execution")]
    ResultRepeated,
    /// A call that is told about can be told from others.
    #[error("tools/result execution must carry non-empty name and callId")]
    Anonymous,
    /// A nested call says in the log where it belongs.
    #[error("{kind} must carry non-empty rootCallId, parentCallId, and subCallId")]
    NoIds {
        /// The event's type.
        kind: String,
    },
    /// A nested call stays below the call that it was begun for.
    #[error("{kind} changed rootCallId for subCallId {sub}")]
    RootChanged {
        /// The event's type.
        kind: String,
        /// The nested call's id.
        sub: String,
    },
    /// The parent of a nested call is the root, or was begun below it.
    #[error("{kind} parentCallId {parent} does not belong to rootCallId {root}")]
    StrangeParent {
        /// The event's type.
        kind: String,
        /// The parent's id.
        parent: String,
        /// The id of the call that a model asked for.
        root: String,
    },
    /// Nested calls are made in turns.
    #[error("{kind} appended outside any open turn")]
    OutsideTurn {
        /// The event's type.
        kind: String,
    },
    /// The data is an object, and its ids are text.
    #[error("{kind} cannot be read: {reason}")]
    Readable {
        /// The event's type.
        kind: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A call, at one of its stations.
    Call {
        /// The call's id.
        id: String,
        /// The tool's name.
        tool: String,
    },
    /// An event of a log, where it stands or would stand.
    Event {
        /// The session's id.
        session: String,
        /// The event's number.
        seq: u64,
    },
}

/// A call or a log that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invariant violated by \"@deepseek-ai/dsh-tools\": {rule}")]
#[non_exhaustive]
pub struct Violation {
    /// What broke it.
    pub subject: Subject,
    /// The rule.
    pub rule: Rule,
}

impl Violation {
    /// The code of all violations.
    pub const CODE: &'static str = "INVARIANT";
}
