//! Which nested calls a log has, and what it may log of them next.

use std::borrow::Borrow;
use std::collections::HashMap;

use dsh_session::{Event, Payload, TurnEnd, TurnStart};
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
    let mut progress = Progress::default();
    events.into_iter().try_for_each(|event| progress.advance(session, event.borrow()))
}

/// How far a log has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    in_turn: bool,
    /// The root of each nested call, by the nested call's id.
    roots: HashMap<String, String>,
}

/// What an event that is allowed does.
enum Change {
    Nothing,
    TurnStarts,
    TurnEnds,
    Dispatch(Ids),
}

/// Only what the rules look at.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Ids {
    root_call_id: String,
    parent_call_id: String,
    sub_call_id: String,
}

impl Progress {
    /// Whether an event may come next.
    pub(crate) fn judge(&self, session: &str, event: &Event) -> Result<(), Violation> {
        self.change(event).map(drop).map_err(|rule| violation(session, event, rule))
    }

    /// Takes the next event.
    pub(crate) fn advance(&mut self, session: &str, event: &Event) -> Result<(), Violation> {
        match self.change(event).map_err(|rule| violation(session, event, rule))? {
            Change::Nothing => {}
            Change::TurnStarts => self.in_turn = true,
            Change::TurnEnds => self.in_turn = false,
            Change::Dispatch(ids) => drop(self.roots.insert(ids.sub_call_id, ids.root_call_id)),
        }
        Ok(())
    }

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

fn ids(event: &Event) -> Result<Ids, Rule> {
    let text = event.data().get();
    let reason = match serde_json::from_str(text) {
        // A derived struct can be read from an array as well.
        Ok(ids) if text.trim_start().starts_with('{') => return Ok(ids),
        Ok(_) => "an object is expected".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Rule::Readable { kind: event.kind().to_owned(), reason })
}

fn violation(session: &str, event: &Event, rule: Rule) -> Violation {
    Violation { subject: Subject::Event { session: session.to_owned(), seq: event.seq() }, rule }
}
