//! What listeners decide about a call.

/// The answer to [`PRE_EXECUTE`](crate::PRE_EXECUTE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreDecision {
    /// The call may go on; guards are asked next.
    Allow,
    /// The call is refused.
    Deny {
        /// The reason, which the model reads.
        reason: String,
    },
}

/// The answer to [`POST_EXECUTE`](crate::POST_EXECUTE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostDecision {
    /// The outcome stands.
    Accept,
    /// The outcome stands with another text; a failure stays a failure.
    Replace {
        /// What the model reads instead.
        content: String,
    },
    /// The result is kept from the model.
    Block {
        /// What the model reads instead, as an error.
        feedback: String,
    },
}
