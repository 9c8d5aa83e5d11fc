//! Hooks of a configuration that are not run.

use std::fmt;

use crate::bridge::grammar::Grammar;
use crate::point::Point;

/// The target of the warnings about them, for those who tell of them in their own way.
pub const LEFT_OUT: &str = "dsh_hooks::left_out";

/// A hook of a configuration that is not run; its text says which one and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// When it would run.
    pub point: Point,
    reason: Reason,
    /// What would be run instead.
    which: &'static str,
}

/// Why a hook is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It is marked as `async`.
    Async,
    /// This is its `type`.
    Kind(String),
    /// Its `args` are no list of texts, so nobody knows what it was meant to run.
    Arguments,
}

impl LeftOut {
    pub(crate) fn new(point: Point, reason: Reason, grammar: &Grammar) -> Self {
        let which = if grammar.has_async { "synchronous command hooks" } else { "command hooks" };
        Self { point, reason, which }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { point, reason, which } = self;
        match reason {
            Reason::Kind(kind) => {
                write!(f, "a hook of the type \"{kind}\" on {point} is left out: only {which} run")
            }
            Reason::Async => write!(f, "an async hook on {point} is left out: only {which} run"),
            Reason::Arguments => {
                write!(f, "a hook on {point} is left out: its `args` are no list of texts")
            }
        }
    }
}
