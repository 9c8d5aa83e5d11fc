//! Which hooks run, and what may come next.

use std::borrow::Borrow;
use std::collections::HashMap;

use dsh_hooks::{Dialect, HookInvoked, HookResult};
use dsh_session::{Event, LogProgress, Payload, TurnEnd, TurnStart, check_rules};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::rule::{Rule, Violation};

/// Checks a whole log.
///
/// # Errors
/// The first event that breaks a rule.
///
/// # Examples
/// ```
/// use dsh_hooks_invariants::{Rule, check};
/// use dsh_session::{NewEvent, Session};
///
/// let session = Session::detached("s-1");
/// session.append(NewEvent::raw("turn/start", r#"{"turn":1}"#)?)?;
/// let ended = r#"{"turn":1,"point":"Stop","handlerId":"h","decision":"pass","durationMs":3}"#;
/// session.append(NewEvent::raw("hook/result", ended)?)?;
/// let violation = check("s-1", session.events().iter()).map_err(|it| it.rule);
/// assert_eq!(violation, Err(Rule::NotInvoked { handler_id: "h".to_owned() }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check<E: Borrow<Event>>(session: &str, events: impl IntoIterator<Item = E>) -> Result<(), Violation> {
    check_rules::<Progress, E>(session, events)
}

/// How far a log has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The turn that is open.
    turn: Option<u64>,
    /// How often each hook of that turn runs; a crash leaves some for good.
    running: HashMap<Hook, u64>,
}

/// What pairs the end of a hook with its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hook {
    point: String,
    handler_id: String,
}

/// What an event that is allowed does.
pub(crate) enum Change {
    Nothing,
    TurnStarts(u64),
    TurnEnds,
    Begins(Hook),
    Ends(Hook),
}

/// Only what the rules look at; the words are compared here, not by their types.
#[derive(Deserialize)]
struct Turn {
    turn: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Invoked {
    turn: u64,
    #[serde(default)]
    point: String,
    #[serde(default)]
    handler_id: String,
    #[serde(default)]
    dialect: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    turn: u64,
    #[serde(default)]
    point: String,
    #[serde(default)]
    handler_id: String,
    #[serde(default)]
    duration_ms: Value,
}

impl Progress {
    /// The rules themselves. Events of other types are free.
    fn change(&self, event: &Event) -> Result<Change, Rule> {
        match event.kind() {
            TurnStart::TYPE => data(event).map(|Turn { turn }| Change::TurnStarts(turn)),
            TurnEnd::TYPE => Ok(Change::TurnEnds),
            HookInvoked::TYPE => self.begins(event),
            HookResult::TYPE => self.ends(event),
            _ => Ok(Change::Nothing),
        }
    }

    fn begins(&self, event: &Event) -> Result<Change, Rule> {
        let Invoked { turn, point, handler_id, dialect } = data(event)?;
        self.in_turn(event, turn)?;
        if point.is_empty() || handler_id.is_empty() {
            Err(Rule::Nameless)
        } else if Dialect::named(&dialect).is_none() {
            Err(Rule::UnknownDialect { dialect })
        } else {
            Ok(Change::Begins(Hook { point, handler_id }))
        }
    }

    fn ends(&self, event: &Event) -> Result<Change, Rule> {
        let Ended { turn, point, handler_id, duration_ms } = data(event)?;
        self.in_turn(event, turn)?;
        let hook = Hook { point, handler_id };
        if !self.running.contains_key(&hook) {
            Err(Rule::NotInvoked { handler_id: hook.handler_id })
        } else if !duration_ms.as_f64().is_some_and(|ms| ms.is_finite() && ms >= 0.0) {
            Err(Rule::Duration)
        } else {
            Ok(Change::Ends(hook))
        }
    }

    fn in_turn(&self, event: &Event, turn: u64) -> Result<(), Rule> {
        let kind = || event.kind().to_owned();
        match self.turn {
            None => Err(Rule::OutsideTurn { kind: kind() }),
            Some(open) if open != turn => Err(Rule::OtherTurn { kind: kind(), turn, open }),
            Some(_) => Ok(()),
        }
    }

    fn end(&mut self, hook: &Hook) {
        match self.running.get_mut(hook) {
            Some(times @ 2..) => *times -= 1,
            Some(_) | None => drop(self.running.remove(hook)),
        }
    }
}

impl LogProgress for Progress {
    type Change = Change;
    type Violation = Violation;

    fn judge(&self, session: &str, event: &Event) -> Result<Change, Violation> {
        self.change(event).map_err(|rule| violation(session, event, rule))
    }

    fn take(&mut self, _: &Event, change: Change) {
        match change {
            Change::Nothing => {}
            // A hook ends in its turn, so none of another one can.
            Change::TurnStarts(turn) => *self = Self { turn: Some(turn), running: HashMap::new() },
            Change::TurnEnds => *self = Self::default(),
            Change::Begins(hook) => *self.running.entry(hook).or_default() += 1,
            Change::Ends(hook) => self.end(&hook),
        }
    }
}

fn data<T: DeserializeOwned>(event: &Event) -> Result<T, Rule> {
    event.read_as().map_err(|reason| Rule::Readable { kind: event.kind().to_owned(), reason })
}

fn violation(session: &str, event: &Event, rule: Rule) -> Violation {
    Violation { session: session.to_owned(), seq: event.seq(), rule }
}
