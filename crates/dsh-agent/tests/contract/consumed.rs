//! What became of the work that was asked for.

use std::sync::Arc;

use dsh_agent::{Target, consumed_work};
use dsh_llm::{ContentBlock, LlmFailure, Message};
use dsh_session::{
    CancelCause, InboxSpliced, NewEvent, Session, StepEnd, StepStart, TurnEnd, TurnEndReason, TurnStart,
};

struct Log(Arc<Session>);

impl Log {
    fn new() -> Self {
        Self(Session::detached("s"))
    }

    fn turn(&self, turn: u64, claims: bool, steps: bool, reason: TurnEndReason) {
        self.0.append(NewEvent::new(&TurnStart { turn }).unwrap()).unwrap();
        if claims {
            self.splice(1, 0, false);
        }
        if steps {
            self.0.append(NewEvent::new(&StepStart { turn, step: 1 }).unwrap()).unwrap();
            self.0.append(NewEvent::new(&StepEnd { turn, step: 1 }).unwrap()).unwrap();
        }
        self.0.append(NewEvent::new(&TurnEnd { turn, reason }).unwrap()).unwrap();
    }

    fn splice(&self, removed: u64, inserted: usize, canceled: bool) {
        let message = || Message::user(vec![ContentBlock::text("x")]);
        let splice = InboxSpliced {
            target: Target::NextTurn,
            start: 0,
            removed_count: (removed > 0).then_some(removed),
            inserted: (0..inserted).map(|_| message()).collect(),
            outcome: canceled.then(|| "canceled".to_owned()),
        };
        self.0.append(NewEvent::new(&splice).unwrap()).unwrap();
    }

    fn consumed(&self) -> (Option<u64>, bool) {
        let work = consumed_work(&self.0.events());
        (work.end.map(|end| end.turn), work.dropped_unrun)
    }
}

// spec: agent-loop/S17
#[test]
fn the_latest_turn_that_did_something_accounts_for_the_work() {
    let log = Log::new();
    assert_eq!(log.consumed(), (None, false));
    let reasons = [
        TurnEndReason::Completed {},
        TurnEndReason::MaxTokens {},
        TurnEndReason::Error { error: LlmFailure::new("SERVER", "oops") },
        TurnEndReason::Aborted { reason: CancelCause::User {} },
    ];
    for (turn, reason) in (1..).zip(reasons) {
        log.turn(turn, true, true, reason);
        assert_eq!(log.consumed(), (Some(turn), false));
    }
    // One without a step accounts for what it has taken, unless it simply completed.
    log.turn(5, true, false, TurnEndReason::Completed {});
    assert_eq!(log.consumed(), (Some(4), false));
    log.turn(6, false, false, TurnEndReason::Aborted { reason: CancelCause::User {} });
    assert_eq!(log.consumed(), (Some(4), false));
    log.turn(7, true, false, TurnEndReason::Blocked {});
    assert_eq!(log.consumed(), (Some(7), false));
}

// spec: agent-loop/S17
#[test]
fn what_was_cancelled_before_it_was_said_is_dropped_and_what_was_replaced_is_not() {
    let log = Log::new();
    log.turn(1, true, true, TurnEndReason::Completed {});
    log.splice(0, 1, false);
    log.splice(1, 1, true);
    assert_eq!(log.consumed(), (Some(1), false));
    log.splice(1, 0, true);
    assert_eq!(log.consumed(), (Some(1), true));
    log.turn(2, true, true, TurnEndReason::Completed {});
    assert_eq!(log.consumed(), (Some(2), false));
}
