//! Tool calls, put together from pieces of servers that number them in many ways.
//!
//! **Invariants**
//! 1. A piece with an id belongs to the call that has this id at the piece's index, if there is one, and without a name to one that
//!    has this id anywhere; with an id that no call has, to the latest call at that index as long as that one has no id. Otherwise it
//!    begins a call, unless it has no name and the latest call at its index is still in the middle of its arguments: some servers make
//!    up an id for each piece.
//! 2. A piece without an id belongs to the latest call at its index. Where there is none, one with a name begins a call, and one
//!    without goes on with the call of the piece before it.
//! 3. A piece without index and id goes on with the call of the piece before it, unless it names a tool and that call has one and
//!    is whole, or has no arguments and another name.
//! 4. What a piece costs does not depend on how long the arguments are already, nor on how many indices a call was given.

use std::collections::HashSet;

use dsh_llm::{LlmError, code};

use crate::whole::Whole;

/// The most calls of one answer.
const MAX_CALLS: usize = 1_000;

/// One call.
#[derive(Debug)]
pub(crate) struct ToolCall {
    /// The index of its block in the answer.
    pub(crate) block: u64,
    /// The indices that the server gives it; none for a server that gives none.
    at: HashSet<String>,
    /// Empty until it is known.
    pub(crate) id: String,
    /// Empty until it is known.
    pub(crate) name: String,
    pub(crate) arguments: String,
    whole: Whole,
}

/// What a piece says of its call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) index: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
}

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    calls: Vec<ToolCall>,
    /// The call of the piece before.
    last: usize,
}

impl ToolCall {
    fn is_at(&self, index: Option<&str>) -> bool {
        index.is_none_or(|index| self.at.contains(index))
    }

    /// More of its arguments.
    pub(crate) fn push(&mut self, arguments: &str) {
        self.whole.push(arguments);
        self.arguments.push_str(arguments);
    }

    /// Whether a piece with a name, but without index and id, is of another call.
    fn is_over(&self, name: &str) -> bool {
        !self.name.is_empty() && (self.whole.is_whole() || (self.arguments.is_empty() && self.name != name))
    }
}

impl ToolCalls {
    /// The call of a piece, and whether the piece begins it: then it gets the block.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn of(&mut self, piece: Piece<'_>, block: u64) -> Result<(&mut ToolCall, bool), LlmError> {
        let (place, begins) = match self.place(piece) {
            Some(place) => (place, false),
            None if self.calls.len() == MAX_CALLS => {
                let message = format!("the answer asks for more than {MAX_CALLS} tool calls");
                return Err(LlmError::new(code::MALFORMED_RESPONSE, message));
            }
            None => {
                let at = piece.index.map(str::to_owned).into_iter().collect();
                let (id, name, arguments) = Default::default();
                self.calls.push(ToolCall { block, at, id, name, arguments, whole: Whole::default() });
                (self.calls.len() - 1, true)
            }
        };
        self.last = place;
        let call = &mut self.calls[place];
        if let Some(id) = piece.id
            && (call.id.is_empty() || call.id == id)
        {
            id.clone_into(&mut call.id);
        }
        if let Some(name) = piece.name {
            name.clone_into(&mut call.name);
        }
        Ok((call, begins))
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = ToolCall> {
        self.calls.into_iter()
    }

    fn latest_at(&self, index: Option<&str>) -> Option<usize> {
        match index {
            Some(index) => self.calls.iter().rposition(|call| call.is_at(Some(index))),
            None => (!self.calls.is_empty()).then_some(self.last),
        }
    }

    /// Where the call of a piece is, if it has begun.
    fn place(&mut self, piece: Piece<'_>) -> Option<usize> {
        let latest = self.latest_at(piece.index);
        if let Some(id) = piece.id {
            let is_it = |call: &ToolCall| call.id == id && (piece.name.is_none() || call.is_at(piece.index));
            let here = self.calls.iter().rposition(|call| call.id == id && call.is_at(piece.index));
            let known = here.or_else(|| self.calls.iter().rposition(is_it));
            return known.or_else(|| {
                let call = &self.calls[latest?];
                let goes_on = call.id.is_empty() || (piece.name.is_none() && !call.whole.is_whole());
                goes_on.then_some(latest?)
            });
        }
        match (latest, piece.index) {
            (Some(latest), Some(_)) => Some(latest),
            (Some(latest), None) => {
                let begins = piece.name.is_some_and(|name| self.calls[latest].is_over(name));
                (!begins).then_some(latest)
            }
            (None, Some(index)) if piece.name.is_none() && !self.calls.is_empty() => {
                self.calls[self.last].at.insert(index.to_owned());
                Some(self.last)
            }
            (None, _) => None,
        }
    }
}
