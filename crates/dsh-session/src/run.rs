//! A run of streamed pieces, kept as the row that it is in a file: a tenth of the memory of as many events.

use std::borrow::Cow;
use std::sync::Arc;

use crate::event::Event;
use crate::packed::CHUNK;
use crate::text::JsonText;

/// Consecutive `assistant/chunk` events of one block.
#[derive(Clone, PartialEq)]
pub(crate) struct Run {
    seq0: u64,
    time0: i64,
    /// The data of each event up to its piece.
    head: Box<str>,
    /// The pieces as JSON texts, one after the other.
    pieces: Box<str>,
    /// Where each piece ends.
    ends: Box<[u32]>,
    /// How long after the first each event came, in milliseconds.
    after_ms: After,
}

#[derive(Clone, PartialEq)]
enum After {
    Narrow(Box<[i32]>),
    Wide(Box<[i64]>),
}

impl Run {
    /// A run of at least one piece; `times` has one for each. None if the pieces are more than a run can hold.
    pub(crate) fn new<'p>(
        seq0: u64,
        times: &[i64],
        head: String,
        pieces: impl Iterator<Item = &'p str>,
    ) -> Option<Self> {
        let time0 = *times.first()?;
        let mut text = String::new();
        let mut ends = Vec::with_capacity(times.len());
        for piece in pieces {
            text.push_str(piece);
            ends.push(u32::try_from(text.len()).ok()?);
        }
        let narrow: Option<Box<[i32]>> =
            times.iter().map(|time| i32::try_from(time.checked_sub(time0)?).ok()).collect();
        let after_ms = match narrow {
            Some(narrow) => After::Narrow(narrow),
            None => After::Wide(times.iter().map(|time| time.checked_sub(time0)).collect::<Option<_>>()?),
        };
        (ends.len() == times.len()).then_some(Self {
            seq0,
            time0,
            head: head.into(),
            pieces: text.into(),
            ends: ends.into(),
            after_ms,
        })
    }

    pub(crate) fn first_seq(&self) -> u64 {
        self.seq0
    }

    /// How many events it holds.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The event at a place, made anew.
    pub(crate) fn get(&self, index: usize) -> Option<Arc<Event>> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let after = match &self.after_ms {
            After::Narrow(after) => i64::from(*after.get(index)?),
            After::Wide(after) => *after.get(index)?,
        };
        let piece = self.pieces.get(start..end)?;
        let mut data = String::with_capacity(self.head.len() + piece.len() + 2);
        data.push_str(&self.head);
        data.push_str(piece);
        data.push_str("}}");
        Some(Arc::new(Event {
            seq: self.seq0 + index as u64,
            time_ms: self.time0 + after,
            kind: Cow::Borrowed(CHUNK),
            data: JsonText::own(data),
            surface: None,
            sources: None,
            ignorable: false,
            message: None,
        }))
    }
}
