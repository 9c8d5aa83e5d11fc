//! Which nested calls a log has, and what it may log of them next.

use std::borrow::Borrow;
use std::collections::HashMap;

use dsh_session::{Event, LogProgress, Payload, TurnEnd, TurnStart, check_rules};
use dsh_tools::{CodeDispatch, CodeDispatchStart};
use serde::Deserialize;

use crate::rule::{Rule, Subject, Violation};

/// Checks a whole log.
///
/// # Errors
/// The first event that breaks a rule.
///
/// # Examples
/// ```
/// use dsh_session::{NewEvent, Session};
/// use dsh_tools_invariants::{Rule, check};
///
/// let session = Session::detached("s-1");
/// let ids = r#"{"rootCallId":"c","parentCallId":"c","subCallId":"c:code:1"}"#;
/// session.append(NewEvent::raw("tool/code-dispatch", ids)?)?;
/// let violation = check("s-1", session.events().iter()).map_err(|it| it.rule);
/// assert_eq!(violation, Err(Rule::OutsideTurn { kind: "tool/code-dispatch".to_owned() }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check<E: Borrow<Event>>(session: &str, events: impl IntoIterator<Item = E>) -> Result<(), Violation> {
    check_rules::<Progress, E>(session, events)
}

/// How far a log has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    in_turn: bool,
    /// The root of each nested call, by the nested call's id.
    roots: HashMap<String, String>,
}

/// What an event that is allowed does.
pub(crate) enum Change {
    Nothing,
    TurnStarts,
    TurnEnds,
    Dispatch(Ids),
}

/// Only what the rules look at.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Ids {
    root_call_id: String,
    parent_call_id: String,
    sub_call_id: String,
}

impl Progress {
    /// The rules themselves. Events of other types are free.
    fn change(&self, event: &Event) -> Result<Change, Rule> {
        match event.kind() {
            TurnStart::TYPE => Ok(Change::TurnStarts),
            TurnEnd::TYPE => Ok(Change::TurnEnds),
            CodeDispatchStart::TYPE | CodeDispatch::TYPE => self.dispatch(event),
            _ => Ok(Change::Nothing),
        }
    }

    fn dispatch(&self, event: &Event) -> Result<Change, Rule> {
        let kind = || event.kind().to_owned();
        let ids = ids(event)?;
        let Ids { root_call_id: root, parent_call_id: parent, sub_call_id: sub } = &ids;
        if root.is_empty() || parent.is_empty() || sub.is_empty() {
            Err(Rule::NoIds { kind: kind() })
        } else if self.roots.get(sub).is_some_and(|before| before != root) {
            Err(Rule::RootChanged { kind: kind(), sub: sub.clone() })
        } else if parent != root && self.roots.get(parent) != Some(root) {
            Err(Rule::StrangeParent { kind: kind(), parent: parent.clone(), root: root.clone() })
        } else if !self.in_turn {
            Err(Rule::OutsideTurn { kind: kind() })
        } else {
            Ok(Change::Dispatch(ids))
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
            Change::Dispatch(ids) => drop(self.roots.insert(ids.sub_call_id, ids.root_call_id)),
        }
    }
}

fn ids(event: &Event) -> Result<Ids, Rule> {
    event.read_as().map_err(|reason| Rule::Readable { kind: event.kind().to_owned(), reason })
}

fn violation(session: &str, event: &Event, rule: Rule) -> Violation {
    Violation { subject: Subject::Event { session: session.to_owned(), seq: event.seq() }, rule }
}
