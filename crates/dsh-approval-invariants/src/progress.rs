//! Which questions are open, and what may come next.

use std::borrow::Borrow;
use std::collections::HashSet;

use dsh_approval::{ApprovalAsked, ApprovalDecided, ApprovalOutcome, ApprovalPolicy, ApprovalPolicySet};
use dsh_session::{Event, LogProgress, Payload, TurnEnd, TurnStart, check_rules};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer, value};

use crate::rule::{Rule, Violation};

/// Checks a whole log.
///
/// # Errors
/// The first event that breaks a rule.
///
/// # Examples
/// ```
/// use dsh_approval_invariants::{Rule, check};
/// use dsh_session::{NewEvent, Session};
///
/// let session = Session::detached("s-1");
/// session.append(NewEvent::raw("approval/asked", r#"{"id":"a","toolName":"bash"}"#)?)?;
/// let violation = check("s-1", session.events().iter()).map_err(|it| it.rule);
/// assert_eq!(violation, Err(Rule::AskedOutsideTurn));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check<E: Borrow<Event>>(session: &str, events: impl IntoIterator<Item = E>) -> Result<(), Violation> {
    check_rules::<Progress, E>(session, events)
}

/// How far a log has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    in_turn: bool,
    /// The ids of questions without an outcome; a crash leaves some for good.
    open: HashSet<String>,
}

/// What an event that is allowed does.
pub(crate) enum Change {
    Nothing,
    TurnStarts,
    TurnEnds,
    Asks(String),
    Decides(String),
}

/// Only what the rules look at; the words are compared here, not by their types.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    id: String,
    #[serde(default)]
    tool_name: String,
}

#[derive(Deserialize)]
struct Decided {
    id: String,
    outcome: String,
}

#[derive(Deserialize)]
struct PolicySet {
    policy: String,
}

impl Progress {
    /// The rules themselves. Events of other types are free.
    fn change(&self, event: &Event) -> Result<Change, Rule> {
        match event.kind() {
            TurnStart::TYPE => Ok(Change::TurnStarts),
            TurnEnd::TYPE => Ok(Change::TurnEnds),
            ApprovalAsked::TYPE => self.asks(event),
            ApprovalDecided::TYPE => self.decides(event),
            ApprovalPolicySet::TYPE => {
                let PolicySet { policy } = data(event)?;
                match policy.parse::<ApprovalPolicy>() {
                    Ok(_) => Ok(Change::Nothing),
                    Err(_) => Err(Rule::UnknownPolicy { policy }),
                }
            }
            _ => Ok(Change::Nothing),
        }
    }

    fn asks(&self, event: &Event) -> Result<Change, Rule> {
        if !self.in_turn {
            return Err(Rule::AskedOutsideTurn);
        }
        let Asked { id, tool_name } = data(event)?;
        if tool_name.is_empty() {
            Err(Rule::NoToolName)
        } else if self.open.contains(&id) {
            Err(Rule::RepeatedId { id })
        } else {
            Ok(Change::Asks(id))
        }
    }

    fn decides(&self, event: &Event) -> Result<Change, Rule> {
        if !self.in_turn {
            return Err(Rule::DecidedOutsideTurn);
        }
        let Decided { id, outcome } = data(event)?;
        if !self.open.contains(&id) {
            Err(Rule::NotAsked { id })
        } else if !is_outcome(&outcome) {
            Err(Rule::UnknownOutcome { outcome })
        } else {
            Ok(Change::Decides(id))
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
            Change::TurnStarts => self.in_turn = true,
            Change::TurnEnds => self.in_turn = false,
            Change::Asks(id) => drop(self.open.insert(id)),
            Change::Decides(id) => drop(self.open.remove(&id)),
        }
    }
}

fn is_outcome(name: &str) -> bool {
    let name: value::StrDeserializer<'_, value::Error> = name.into_deserializer();
    ApprovalOutcome::deserialize(name).is_ok()
}

fn data<T: DeserializeOwned>(event: &Event) -> Result<T, Rule> {
    event.read_as().map_err(|reason| Rule::Readable { kind: event.kind().to_owned(), reason })
}

fn violation(session: &str, event: &Event, rule: Rule) -> Violation {
    Violation { session: session.to_owned(), seq: event.seq(), rule }
}
