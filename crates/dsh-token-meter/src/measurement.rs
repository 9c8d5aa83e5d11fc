//! What is told of a session.

use std::sync::Arc;

use dsh_llm::TokenUsage;

/// How many tokens a session takes, after some of its events. It does not change any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// How many events are in it.
    pub log_revision: u64,
    /// What it starts from.
    pub baseline: Baseline,
    /// What the conversation has become longer since then, about; negative if it has become shorter.
    pub surface_delta_tokens: i64,
    /// What the next request takes, about, without what is answered.
    pub total_tokens: u64,
    /// What the conversation alone takes, about.
    pub surface_tokens: u64,
    /// What each event of the conversation takes, in its order.
    pub nodes: Arc<Vec<NodeTokens>>,
}

/// What a measurement starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// No model has answered yet: all of it is an estimate.
    None,
    /// An estimate of the instructions, the tools and the conversation, up to the last answer where that was asked with the
    /// same ones, and else of all of it.
    Estimated {
        /// The tokens.
        tokens: u64,
    },
    /// What the provider counted for the last answer, and for the request that it answers.
    Usage {
        /// The tokens.
        tokens: u64,
        /// The count.
        usage: TokenUsage,
    },
}

/// What an event of the conversation takes, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeTokens {
    /// The event.
    pub seq: u64,
    /// The tokens.
    pub tokens: u64,
}

impl Baseline {
    /// The tokens.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Estimated { tokens } | Self::Usage { tokens, .. } => Some(*tokens),
        }
    }
}
