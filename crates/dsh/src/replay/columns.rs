//! How wide the columns of a replay's text are.

use crate::replay::plan::PlannedCall;
use crate::visible::shortened;
use unicode_width::UnicodeWidthStr;

/// The width of [`Columns::verdict`].
const VERDICT: usize = 12;
/// What the duration of a call may take.
const DURATION: usize = 8;
const MAX_NAME: usize = 16;
/// Narrower than this a text tells nothing; rather the terminal breaks the line.
const MIN_TEXT: usize = 8;
/// Where there is no terminal whose width could be followed.
const SUBJECT: usize = 56;
const NOTE: usize = 160;

/// The columns of the timeline: number, name, subject, verdict, duration. Two spaces are before each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) number: usize,
    pub(crate) name: usize,
    pub(crate) subject: usize,
    pub(crate) verdict: usize,
    /// What is said below a call, from the name's column on.
    pub(crate) note: usize,
}

impl Columns {
    /// The columns for these calls on a terminal of this width.
    pub(crate) fn new(calls: &[PlannedCall], terminal: Option<usize>) -> Self {
        let number = calls.len().to_string().len();
        let name = calls.iter().map(|call| shortened(&call.tool, MAX_NAME).width()).max().unwrap_or(1);
        let note_start = 2 + number + 2;
        let (subject, note) = match terminal {
            None => (SUBJECT, NOTE),
            Some(width) => {
                let others = note_start + name + 2 + 2 + VERDICT + 2 + DURATION;
                let room = width.saturating_sub(others).max(MIN_TEXT);
                let longest = calls.iter().map(|call| shortened(&call.subject, room).width()).max();
                (longest.unwrap_or(room), width.saturating_sub(note_start).max(MIN_TEXT))
            }
        };
        Self { number, name, subject, verdict: VERDICT, note }
    }

    /// The spaces before what is said below a call.
    pub(crate) fn note_indent(self) -> String {
        " ".repeat(2 + self.number + 2)
    }
}

#[cfg(test)]
mod tests {
    use super::{Columns, MIN_TEXT, NOTE, PlannedCall, SUBJECT};

    fn call(subject: &str) -> PlannedCall {
        PlannedCall {
            number: 1,
            turn: 1,
            step: 1,
            id: "1".to_owned(),
            tool: "bash".to_owned(),
            arguments: String::new(),
            subject: subject.to_owned(),
            logged: None,
        }
    }

    #[test]
    fn the_subject_gets_what_the_others_leave_of_the_terminal_if_it_needs_it() {
        let long = [call(&"漢".repeat(100))];
        let width = |terminal| Columns::new(&long, terminal).subject;
        // 35 columns are the others'; half a character cannot be shown.
        assert_eq!((width(Some(60)), width(Some(61)), width(Some(10))), (25, 25, 7));
        assert_eq!(width(None), SUBJECT);
        assert_eq!(Columns::new(&[call("ls")], Some(200)).subject, 2);
    }

    #[test]
    fn a_note_goes_to_the_edge_of_the_terminal() {
        let width = |terminal| Columns::new(&[call("ls")], terminal).note;
        assert_eq!((width(Some(60)), width(None), width(Some(5))), (55, NOTE, MIN_TEXT));
    }
}
