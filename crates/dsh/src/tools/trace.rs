//! How a call is told: a line for each station at the moment it is reached, and the result.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use clap::ColorChoice;
use dsh_jobs::{JobSnapshot, JobStatus};
use dsh_llm::ContentBlock;
use dsh_tools::ToolOutcome;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::paint::{Colour, Paint};
use crate::tools::jobs;
use crate::visible::{shortened, visible, visible_json};
use crate::width::terminal_width;

/// Narrower than this a detail tells nothing; rather the terminal breaks the line.
const MIN_DETAIL: usize = 16;
/// How many lines of a burst of output are told; the others are counted. All of them are in the result.
const BURST_LINES: usize = 4;
/// What is written within this time of a line is one burst with it.
const BURST: Duration = Duration::from_millis(500);
/// What is before a detail: the time and the station's name.
const BEFORE: usize = 12 + 2 + 12 + 2;

/// What a call passes on its way, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Station {
    Arguments,
    PreExecute,
    Approval,
    Guards,
    Execute,
    Body,
    Output,
    PostExecute,
    Result,
}

/// Whether what is told is good news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
}

/// Tells a call on standard output. Whoever reads slowly slows the call down.
pub(crate) struct Trace {
    start: OnceLock<Instant>,
    form: Form,
    /// Ends the call when nobody takes what is told.
    unheard: CancellationToken,
    failed: Mutex<Option<io::Error>>,
    burst: Mutex<Burst>,
}

/// Lines that a body writes faster than anybody reads.
#[derive(Default)]
struct Burst {
    begun: Option<Duration>,
    told: usize,
    more: usize,
    /// The text before ended within a line, which the next one goes on with.
    is_open: bool,
}

impl Burst {
    /// A line is written at this time: how many before it nobody has been told of, if it begins a new burst, and whether
    /// it is to be told.
    fn line(&mut self, at: Duration) -> (usize, bool) {
        let goes_on = self.begun.is_some_and(|begun| at.saturating_sub(begun) < BURST);
        let more = if goes_on { 0 } else { self.end() };
        self.begun.get_or_insert(at);
        let is_told = self.told < BURST_LINES;
        let is_new = !std::mem::take(&mut self.is_open);
        if is_told {
            self.told += 1;
        } else if is_new {
            self.more += 1;
        }
        (more, is_told)
    }

    /// How many lines nobody has been told of.
    fn end(&mut self) -> usize {
        let more = self.more;
        *self = Self { is_open: self.is_open, ..Self::default() };
        more
    }
}

enum Form {
    Text { paint: Paint, width: Option<usize> },
    Json,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Line<'a> {
    Call {
        name: &'a str,
        agent: &'a str,
        workspace: String,
        arguments: &'a Value,
    },
    Station {
        at_ms: f64,
        station: Station,
        what: &'a str,
        detail: Option<&'a str>,
    },
    Result {
        is_error: bool,
        denied: bool,
        code: Option<&'a str>,
        text: String,
        outcome: &'a ToolOutcome,
        total_ms: f64,
    },
    Job {
        job_id: &'a str,
        status: JobStatus,
        detail: Option<&'a str>,
        said: &'a str,
    },
}

impl Trace {
    /// `unheard` is cancelled when standard output cannot be written.
    pub(crate) fn new(json: bool, color: ColorChoice, unheard: CancellationToken) -> Self {
        let form = match json {
            true => Form::Json,
            false => Form::Text { paint: Paint::for_stream(color, &io::stdout()), width: terminal_width() },
        };
        Self { start: OnceLock::new(), form, unheard, failed: Mutex::new(None), burst: Mutex::default() }
    }

    /// Tells what is about to be called, and starts the clock.
    pub(crate) fn begin(&self, name: &str, agent: &str, workspace: &Path, arguments: &Value) {
        self.write(|form, out| match form {
            Form::Json => {
                let workspace = workspace.display().to_string();
                json(out, &Line::Call { name, agent, workspace, arguments })
            }
            Form::Text { paint, .. } => {
                let folder = visible(&workspace.display().to_string());
                let head = format!("call {} as agent `{}` in {folder}", visible(name), visible(agent));
                writeln!(out, "{}", paint.with(Colour::Bold, head))
            }
        });
        let _ = self.start.set(Instant::now());
    }

    /// A station is reached, or left.
    pub(crate) fn mark(&self, station: Station, tone: Tone, what: &str, detail: Option<&str>) {
        let more = self.burst.lock().end();
        self.more_lines(more);
        self.tell(station, tone, what, detail);
    }

    fn more_lines(&self, more: usize) {
        match more {
            0 => {}
            1 => self.tell(Station::Output, Tone::Plain, "and 1 more line", None),
            _ => self.tell(Station::Output, Tone::Plain, &format!("and {more} more lines"), None),
        }
    }

    fn tell(&self, station: Station, tone: Tone, what: &str, detail: Option<&str>) {
        let at = self.elapsed();
        self.write(|form, out| match form {
            Form::Json => json(out, &Line::Station { at_ms: millis(at), station, what, detail }),
            Form::Text { paint, width } => {
                let room = width.map(|width| width.saturating_sub(BEFORE + what.len() + 2).max(MIN_DETAIL));
                let detail = detail.map(|detail| match room {
                    Some(room) => format!(": {}", shortened(detail, room)),
                    None => format!(": {}", visible(detail)),
                });
                let what = match tone {
                    Tone::Plain => what.to_owned(),
                    Tone::Good => paint.with(Colour::Green, what).to_string(),
                    Tone::Bad => paint.with(Colour::Red, what).to_string(),
                };
                let (at, name) = (format!("{:.1} ms", millis(at)), station.name());
                let at = paint.with(Colour::Dim, format!("{at:>12}"));
                let name = paint.with(Colour::Cyan, format!("{name:12}"));
                writeln!(out, "{at}  {name}  {what}{}", detail.unwrap_or_default())
            }
        });
    }

    /// The body wrote something.
    pub(crate) fn output(&self, text: &str) {
        match self.form {
            Form::Json => self.mark(Station::Output, Tone::Plain, "wrote", Some(text)),
            Form::Text { .. } => {
                for line in text.lines() {
                    let (more, is_told) = self.burst.lock().line(self.elapsed());
                    self.more_lines(more);
                    if is_told {
                        self.tell(Station::Output, Tone::Plain, "wrote", Some(line));
                    }
                }
                self.burst.lock().is_open = !text.ends_with('\n');
            }
        }
    }

    /// The call is over.
    pub(crate) fn result(&self, outcome: &ToolOutcome) {
        let total = self.elapsed();
        self.write(|form, out| match form {
            Form::Json => json(
                out,
                &Line::Result {
                    is_error: outcome.is_error(),
                    denied: outcome.is_denied(),
                    code: outcome.code(),
                    text: outcome.text(),
                    outcome,
                    total_ms: millis(total),
                },
            ),
            Form::Text { paint, .. } => {
                writeln!(out, "\n{}", paint.with(Colour::Bold, "what the model reads"))?;
                lines(out, &outcome.text())?;
                for message in outcome.additional_contexts() {
                    writeln!(out, "{}", paint.with(Colour::Bold, "and then, as a message of the user"))?;
                    let content: Vec<String> = message.content.iter().map(text_of).collect();
                    lines(out, &content.join("\n"))?;
                }
                let colour = if outcome.is_error() { Colour::Red } else { Colour::Green };
                let ended = paint.with(colour, ended(outcome).1);
                writeln!(out, "\n{ended} in {:.1} ms", millis(total))
            }
        });
    }

    /// A job is waited for.
    pub(crate) fn waits_for(&self, job: &JobSnapshot) {
        self.write(|form, out| match form {
            Form::Json => json(out, &of_job(job, "")),
            Form::Text { paint, .. } => {
                let head = format!("what job {} says", visible(job.id.as_str()));
                writeln!(out, "\n{}", paint.with(Colour::Bold, head))
            }
        });
    }

    /// A job that is waited for has said something, or has ended.
    pub(crate) fn job(&self, job: &JobSnapshot, said: &str) {
        self.write(|form, out| match form {
            Form::Json => json(out, &of_job(job, said)),
            Form::Text { paint, .. } => {
                lines(out, said)?;
                let colour = match job.status {
                    JobStatus::Running | JobStatus::Stopping => return Ok(()),
                    JobStatus::Completed => Colour::Green,
                    JobStatus::Killed | JobStatus::Failed => Colour::Red,
                };
                let ended = format!("job {}: {}", visible(job.id.as_str()), jobs::ended(job));
                writeln!(out, "\n{}", paint.with(colour, ended))
            }
        });
    }

    /// Why standard output could not be written, if it could not.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.failed.lock().take()
    }

    fn elapsed(&self) -> Duration {
        self.start.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    fn write(&self, line: impl FnOnce(&Form, &mut io::StdoutLock<'_>) -> io::Result<()>) {
        if self.failed.lock().is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        let written = line(&self.form, &mut out).and_then(|()| out.flush());
        drop(out);
        if let Err(error) = written {
            *self.failed.lock() = Some(error);
            self.unheard.cancel();
        }
    }
}

impl Station {
    fn name(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::PreExecute => "pre-execute",
            Self::Approval => "approval",
            Self::Guards => "guards",
            Self::Execute => "execute",
            Self::Body => "body",
            Self::Output => "output",
            Self::PostExecute => "post-execute",
            Self::Result => "result",
        }
    }
}

/// How a call ended: in one word, and with its code.
pub(crate) fn ended(outcome: &ToolOutcome) -> (Tone, String) {
    match (outcome.as_failure(), outcome.code()) {
        (None, _) => (Tone::Good, "succeeded".to_owned()),
        (Some(failure), _) if failure.is_denied() => (Tone::Bad, "denied".to_owned()),
        (Some(_), Some(code)) => (Tone::Bad, format!("failed ({})", visible(code))),
        (Some(_), None) => (Tone::Bad, "failed".to_owned()),
    }
}

fn of_job<'a>(job: &'a JobSnapshot, said: &'a str) -> Line<'a> {
    Line::Job { job_id: job.id.as_str(), status: job.status, detail: job.detail.as_deref(), said }
}

fn text_of(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => text.clone(),
        _ => "(no text)".to_owned(),
    }
}

fn lines(out: &mut impl io::Write, text: &str) -> io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "{}", visible(line)))
}

fn json(out: &mut impl io::Write, line: &Line<'_>) -> io::Result<()> {
    writeln!(out, "{}", visible_json(&serde_json::to_string(line)?))
}

/// Milliseconds with three decimals.
fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::{BURST, Burst, Duration};

    #[test]
    fn the_first_lines_of_a_burst_are_told_and_the_others_counted() {
        let mut burst = Burst::default();
        let told: Vec<(usize, bool)> = (0..6).map(|at| burst.line(Duration::from_millis(at))).collect();
        assert_eq!(told, [(0, true), (0, true), (0, true), (0, true), (0, false), (0, false)]);
        assert_eq!(burst.line(BURST), (2, true));
        assert_eq!(burst.end(), 0);
    }
}
