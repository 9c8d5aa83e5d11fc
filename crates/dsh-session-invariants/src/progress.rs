//! Where a log is: which turn and step are open, and what may come next.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;

use dsh_session::{
    Event, LogProgress, Payload, StepStart, ToolCall, ToolResult, TurnEnd, TurnStart, check_rules,
};
use serde::Deserialize;

use crate::rule::{Rule, Violation};

/// The code of a result that a call gets when it was never begun, and so perhaps never logged.
const NOT_STARTED: &str = "TOOL_NOT_STARTED";

/// Checks a whole log.
///
/// # Errors
/// The first event that breaks a rule.
///
/// # Examples
/// ```
/// use dsh_session::{NewEvent, Session, TurnStart};
/// use dsh_session_invariants::{Rule, check};
///
/// let session = Session::detached("s-1");
/// session.append(NewEvent::new(&TurnStart { turn: 2 })?)?;
/// let violation = check("s-1", session.events().iter()).map_err(|it| it.rule);
/// assert_eq!(violation, Err(Rule::TurnStart));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check<E: Borrow<Event>>(session: &str, events: impl IntoIterator<Item = E>) -> Result<(), Violation> {
    check_rules::<Progress, E>(session, events)
}

/// How far a log has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The number that the next event has at least.
    next: u64,
    /// The last turn that was started.
    turns: u64,
    open: Option<OpenTurn>,
}

#[derive(Debug)]
struct OpenTurn {
    /// The last step that was started.
    steps: u64,
    open: Option<OpenStep>,
}

#[derive(Debug, Default)]
struct OpenStep {
    /// The ids of the calls that were logged.
    calls: HashSet<String>,
}

/// What an event that is allowed does.
pub(crate) enum Change {
    Nothing,
    TurnStarts,
    TurnEnds,
    StepStarts,
    StepEnds,
    Call(String),
}

/// The turn and the step that an event names.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
struct Place {
    turn: u64,
    step: u64,
}

/// A rule that does not hold, before it is said whose event it was.
struct Broken {
    rule: Rule,
    expected: String,
    found: String,
}

impl Progress {
    /// The rules themselves. Events of other types are free, those of plugins above all.
    fn change(&self, event: &Event) -> Result<Change, Broken> {
        if event.seq() < self.next {
            return Err(broken(Rule::Sequence, format_args!("{} or more", self.next), event.seq()));
        }
        match event.kind() {
            "turn/start" => self.turn_starts(data::<TurnStart>(event)?.turn),
            "turn/end" => self.turn_ends(data::<TurnEnd>(event)?.turn),
            "step/start" => self.step_starts(&data(event)?),
            "step/end" => self.in_step(place(event)?).map(|_| Change::StepEnds),
            "assistant/chunk" | "assistant/message" => self.in_step(place(event)?).map(|_| Change::Nothing),
            "tool/call" => {
                let ToolCall { turn, step, call_id, .. } = data(event)?;
                self.in_step(Place { turn, step }).map(|_| Change::Call(call_id))
            }
            "tool/result" if event.is_surface_replacement() => self.in_turn(event),
            "tool/result" => self.result(&data(event)?),
            "todo/write" | "request/header" | "request/context" => self.in_turn(event),
            _ => Ok(Change::Nothing),
        }
    }

    fn turn_starts(&self, turn: u64) -> Result<Change, Broken> {
        if self.open.is_some() {
            let expected = format_args!("the end of turn {}", self.turns);
            return Err(broken(Rule::TurnStart, expected, format_args!("the start of turn {turn}")));
        }
        if turn != self.turns + 1 {
            let expected = format_args!("turn {}", self.turns + 1);
            return Err(broken(Rule::TurnStart, expected, format_args!("turn {turn}")));
        }
        Ok(Change::TurnStarts)
    }

    fn turn_ends(&self, turn: u64) -> Result<Change, Broken> {
        let found = format_args!("the end of turn {turn}");
        match &self.open {
            None => Err(broken(Rule::TurnEnd, "the start of a turn", found)),
            Some(_) if turn != self.turns => {
                Err(broken(Rule::TurnEnd, format_args!("the end of turn {}", self.turns), found))
            }
            Some(OpenTurn { steps, open: Some(_) }) => {
                Err(broken(Rule::TurnEnd, format_args!("the end of step {steps} first"), found))
            }
            Some(OpenTurn { open: None, .. }) => Ok(Change::TurnEnds),
        }
    }

    fn step_starts(&self, start: &StepStart) -> Result<Change, Broken> {
        let StepStart { turn, step } = *start;
        let found = Place { turn, step };
        match &self.open {
            None => Err(broken(Rule::StepStart, "an open turn", found)),
            Some(OpenTurn { steps, open: Some(_) }) => {
                Err(broken(Rule::StepStart, format_args!("the end of step {steps} first"), found))
            }
            Some(OpenTurn { steps, open: None }) => {
                let expected = Place { turn: self.turns, step: steps + 1 };
                if found == expected {
                    Ok(Change::StepStarts)
                } else {
                    Err(broken(Rule::StepStart, expected, found))
                }
            }
        }
    }

    /// The step that is open, if it is the one that an event names.
    fn in_step(&self, named: Place) -> Result<&OpenStep, Broken> {
        match &self.open {
            Some(OpenTurn { steps, open: Some(step) }) => {
                let open = Place { turn: self.turns, step: *steps };
                if named == open { Ok(step) } else { Err(broken(Rule::InStep, open, named)) }
            }
            Some(OpenTurn { open: None, .. }) | None => Err(broken(Rule::InStep, "an open step", named)),
        }
    }

    fn in_turn(&self, event: &Event) -> Result<Change, Broken> {
        match &self.open {
            Some(_) => Ok(Change::Nothing),
            None => {
                let found = format_args!("a `{}` outside of turns", event.kind());
                Err(broken(Rule::InTurn, "an open turn", found))
            }
        }
    }

    fn result(&self, result: &ToolResult) -> Result<Change, Broken> {
        let step = self.in_step(Place { turn: result.turn, step: result.step })?;
        let id = result.call_id();
        let not_started = result.error.as_ref().is_some_and(|error| error.code == NOT_STARTED);
        if not_started || step.calls.contains(id) {
            return Ok(Change::Nothing);
        }
        let expected = format_args!("a `tool/call` of `{id}` in the same step before it");
        Err(broken(Rule::CallBeforeResult, expected, format_args!("a result of `{id}`")))
    }
}

impl LogProgress for Progress {
    type Change = Change;
    type Violation = Violation;

    fn judge(&self, session: &str, event: &Event) -> Result<Change, Violation> {
        self.change(event).map_err(|broken| broken.of(session, event))
    }

    fn take(&mut self, event: &Event, change: Change) {
        self.next = event.seq() + 1;
        match (change, &mut self.open) {
            (Change::Nothing, _) => {}
            (Change::TurnStarts, open) => {
                self.turns += 1;
                *open = Some(OpenTurn { steps: 0, open: None });
            }
            (Change::TurnEnds, open) => *open = None,
            (Change::StepStarts, Some(turn)) => {
                turn.steps += 1;
                turn.open = Some(OpenStep::default());
            }
            (Change::StepEnds, Some(turn)) => turn.open = None,
            (Change::Call(id), Some(OpenTurn { open: Some(step), .. })) => {
                step.calls.insert(id);
            }
            (Change::StepStarts | Change::StepEnds | Change::Call(_), _) => {}
        }
    }
}

fn data<P: Payload>(event: &Event) -> Result<P, Broken> {
    let found = match event.payload() {
        Ok(Some(data)) => return Ok(data),
        Ok(None) => format!("a `{}`", event.kind()),
        Err(bad) => bad.reason,
    };
    Err(broken(Rule::Readable, format_args!("the data of a `{}`", P::TYPE), found))
}

/// Only the two numbers: pieces of answers are many, and what else they hold is nobody's matter here.
fn place(event: &Event) -> Result<Place, Broken> {
    let unreadable = |found| broken(Rule::Readable, format_args!("the data of a `{}`", event.kind()), found);
    event.read_as().map_err(unreadable)
}

fn broken(rule: Rule, expected: impl fmt::Display, found: impl fmt::Display) -> Broken {
    Broken { rule, expected: expected.to_string(), found: found.to_string() }
}

impl Broken {
    fn of(self, session: &str, event: &Event) -> Violation {
        let Self { rule, expected, found } = self;
        let (session, kind) = (session.to_owned(), event.kind().to_owned());
        Violation { session, seq: event.seq(), kind, rule, expected, found }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "turn {}, step {}", self.turn, self.step)
    }
}
