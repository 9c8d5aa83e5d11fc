//! A log looked at line by line, for people: everything that is wrong with it, not only the first thing.

use std::borrow::Cow;

use crate::closers::closers;
use crate::error::{Problem, ReadError};
use crate::events::Events;
use crate::header::SessionHeader;
use crate::line::{self, Parsed};
use crate::log::{Line, Lines, Reader, SessionLog};
use crate::surface::Surface;

/// More problems than this are counted, not kept.
const MAX_FINDINGS: usize = 100;

/// What there is to say of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkup {
    /// Who the session is, if the header can be read.
    pub header: Option<SessionHeader>,
    /// How many lines there are, the header's included.
    pub lines: usize,
    /// How many events are sound.
    pub events: usize,
    /// What is wrong, in the order of the lines; at most 100 of them.
    pub findings: Vec<ReadError>,
    /// How many problems there are beyond those.
    pub more_findings: usize,
    /// What a reader makes of it.
    pub verdict: Verdict,
}

/// What a reader makes of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing is wrong.
    Sound,
    /// Nothing is wrong; the log ends in an open turn, which a resume closes.
    Open {
        /// By how many events.
        closers: usize,
    },
    /// The end is damaged in a way that a cut explains: a resume takes it away and goes on.
    Torn {
        /// The first line of it.
        line: usize,
        /// How many bytes of it there are.
        bytes: usize,
        /// By how many events an open turn is closed then.
        closers: usize,
    },
    /// Sound as far as that can be said, and made by something that this build does not know.
    Unsupported,
    /// Damaged before its end: it cannot be resumed.
    Damaged,
}

impl Verdict {
    /// Whether the session can be resumed.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        match self {
            Self::Sound | Self::Open { .. } | Self::Torn { .. } => true,
            Self::Unsupported | Self::Damaged => false,
        }
    }
}

impl Checkup {
    /// Looks at a whole log, the first `whole` bytes of which cannot have been cut (0 if any may have been).
    #[must_use]
    pub fn of(bytes: &[u8], whole: usize) -> Self {
        let mut checkup = Self {
            header: None,
            lines: 0,
            events: 0,
            findings: Vec::new(),
            more_findings: 0,
            verdict: Verdict::Damaged,
        };
        checkup.look(bytes);
        // Stores read a byte that is no text as U+FFFD.
        let readable = String::from_utf8_lossy(bytes);
        let whole = match &readable {
            Cow::Borrowed(_) => whole,
            Cow::Owned(_) => String::from_utf8_lossy(&bytes[..whole.min(bytes.len())]).len(),
        };
        checkup.verdict = match SessionLog::parse_framed(readable.as_bytes(), whole) {
            Ok(log) => {
                checkup.events = log.events.len();
                let closers = closers(&log.events).len();
                match log.torn {
                    Some(torn) => Verdict::Torn { line: torn.line, bytes: torn.bytes, closers },
                    None if closers > 0 => Verdict::Open { closers },
                    None => Verdict::Sound,
                }
            }
            Err(error) if error.problem.is_unsupported() => Verdict::Unsupported,
            Err(_) => Verdict::Damaged,
        };
        checkup
    }

    fn look(&mut self, bytes: &[u8]) {
        let reader = Reader::new(bytes, 0);
        let mut lines = Lines::new(bytes);
        let Some(first) = lines.next() else {
            return self.find(1, Problem::Empty);
        };
        self.lines = 1;
        match reader.range(&first).and_then(|range| SessionHeader::parse(reader.part(range))) {
            Ok(header) => self.header = Some(header),
            Err(problem) => self.find(1, problem),
        }
        let mut surface = Some(Surface::default());
        let (mut events, mut next) = (Events::default(), 0);
        for line in lines {
            self.lines += 1;
            let problem = match read(&reader, &line, next) {
                Ok(parsed) => {
                    next += parsed.len();
                    surface.as_mut().and_then(|surface| parsed.fold_into(surface, &mut events).err())
                }
                Err(problem) => {
                    // A gap is told of once: the lines after it are counted on from it.
                    if let Problem::SeqGap { found: Some(found), .. } = problem {
                        next = found + read(&reader, &line, found).map_or(1, |parsed| parsed.len());
                    }
                    Some(problem)
                }
            };
            if let Some(problem) = problem {
                surface = None;
                self.find(line.number, problem);
            }
        }
        self.events = events.len();
    }

    fn find(&mut self, line: usize, problem: Problem) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(ReadError { line, problem });
        } else {
            self.more_findings += 1;
        }
    }
}

fn read(reader: &Reader<'_>, line: &Line, next: u64) -> Result<Parsed, Problem> {
    // By itself: a byte that is no text spoils its own line only.
    let bytes = reader.bytes(line);
    let text =
        std::str::from_utf8(bytes).map_err(|error| Problem::NotUtf8 { column: error.valid_up_to() + 1 })?;
    if !text.trim_start().starts_with('{') {
        return Err(Problem::NotJson { reason: "a line starts with `{`".to_owned() });
    }
    if line.ended { line::parse(&text.into(), 0..text.len(), next) } else { Err(Problem::Unended) }
}
