//! What there is to say of a log.

use dsh_session::SessionHeader;

/// What there is to say of a log, or of a session of a database.
#[derive(Debug)]
pub(super) struct Checked {
    /// The file that it is in.
    pub(super) path: String,
    /// Who the session is, as far as that can be read.
    pub(super) header: Option<SessionHeader>,
    /// Its id, also where the header cannot be read.
    pub(super) id: Option<String>,
    pub(super) verdict: Verdict,
    /// How many lines and sound events there are, where that is known.
    pub(super) lines: Option<usize>,
    pub(super) events: Option<usize>,
    pub(super) findings: Vec<Finding>,
    /// How many more findings there are.
    pub(super) more_findings: usize,
}

/// One thing that is wrong.
#[derive(Debug)]
pub(super) struct Finding {
    /// Where, if it is a line.
    pub(super) line: Option<usize>,
    pub(super) problem: String,
}

/// What is made of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Sound,
    /// Its last turn is open.
    Open {
        closers: usize,
    },
    Torn(Torn),
    /// Sound, and not where a store looks for it.
    Misplaced,
    /// Of a store: it has logs of both encodings.
    Mixed,
    Unsupported,
    Damaged,
    /// The file could not be read at all.
    Unreadable,
}

/// An end that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Torn {
    /// Within the text.
    Line { line: usize, bytes: usize, closers: usize },
    /// Within a compressed frame.
    Frame { at: usize, bytes: usize },
    /// Within the rows of a database.
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "this build has no databases"))]
    Rows { closers: usize },
}

impl Checked {
    /// Of something of which nothing is known but that it is wrong.
    pub(super) fn wrong(path: String, verdict: Verdict, problem: String) -> Self {
        Self {
            path,
            header: None,
            id: None,
            verdict,
            lines: None,
            events: None,
            findings: vec![Finding { line: None, problem }],
            more_findings: 0,
        }
    }

    pub(super) fn is_fine(&self) -> bool {
        match self.verdict {
            Verdict::Sound | Verdict::Open { .. } => true,
            Verdict::Torn(_)
            | Verdict::Misplaced
            | Verdict::Mixed
            | Verdict::Unsupported
            | Verdict::Damaged
            | Verdict::Unreadable => false,
        }
    }

    /// Adds that it is not where it should be. What is wrong with the log itself weighs more.
    pub(super) fn misplace(&mut self, problem: String) {
        self.findings.push(Finding { line: None, problem });
        if self.is_fine() {
            self.verdict = Verdict::Misplaced;
        }
    }
}

impl Verdict {
    /// Whether an agent can go on with the session.
    pub(super) fn can_continue(self) -> bool {
        matches!(self, Self::Sound | Self::Open { .. } | Self::Torn(_))
    }
}
