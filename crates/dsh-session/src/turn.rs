//! The turn that is open in a log.

use crate::event::Event;
use crate::payload::{Payload, TurnEnd, TurnStart};

/// A turn that has begun and not ended: the last boundary of the log is its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenTurn {
    /// The number of the event that began it, which tells turns apart whatever numbers they have.
    pub began: u64,
    /// The number that it was given; none if that cannot be read.
    pub number: Option<u64>,
}

impl OpenTurn {
    /// What is open after the next event of a log.
    pub(crate) fn after(open: Option<Self>, event: &Event) -> Option<Self> {
        match event.kind() {
            TurnStart::TYPE => {
                let start = event.payload::<TurnStart>().ok().flatten();
                Some(Self { began: event.seq(), number: start.map(|start| start.turn) })
            }
            TurnEnd::TYPE => None,
            _ => open,
        }
    }
}
