//! What a log says of the work that was asked for: what became of it, and what was dropped before it was begun.

use dsh_session::{Event, Events, InboxSpliced, Payload, StepStart, TurnEnd, TurnEndReason, TurnStart};

/// What became of the work that was asked for.
///
/// Source: `foldConsumedWork`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConsumedWork {
    /// The latest end of a turn that did something: it had a step, or it took messages and did not simply complete.
    pub end: Option<TurnEnd>,
    /// Whether messages that waited were taken out after that, with nothing put in their place.
    pub dropped_unrun: bool,
}

/// What a log says of the work that was asked for.
#[must_use]
pub fn consumed_work(events: &Events) -> ConsumedWork {
    let mut fold = Fold::default();
    events.iter().for_each(|event| fold.note(&event));
    fold.work
}

#[derive(Default)]
struct Fold {
    work: ConsumedWork,
    is_open: bool,
    /// Of the turn that is open.
    had_step: bool,
    claimed: bool,
}

impl Fold {
    fn note(&mut self, event: &Event) {
        match event.kind() {
            TurnStart::TYPE => (self.is_open, self.had_step, self.claimed) = (true, false, false),
            StepStart::TYPE => self.had_step = true,
            InboxSpliced::TYPE => {
                let Ok(Some(splice)) = event.payload::<InboxSpliced>() else { return };
                let removes = splice.removed_count.is_some_and(|count| count > 0);
                match splice.outcome {
                    None => self.claimed |= removes && self.is_open,
                    Some(_) => self.work.dropped_unrun |= removes && splice.inserted.is_empty(),
                }
            }
            TurnEnd::TYPE => {
                self.is_open = false;
                let Ok(Some(end)) = event.payload::<TurnEnd>() else { return };
                let completed = matches!(end.reason, TurnEndReason::Completed {});
                if self.had_step || (self.claimed && !completed) {
                    self.work = ConsumedWork { end: Some(end), dropped_unrun: false };
                }
            }
            _ => {}
        }
    }
}
