//! What goes on, on a terminal: a line for each step and each tool call, and one below them that lives.
//!
//! **Invariant** a thread of its own writes to the terminal. One that is stopped, or that nobody reads, keeps the agent neither from
//! going on nor from being ended.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use dsh_llm::{ContentBlock, StreamChunk};
use dsh_llm_retry::LlmRetry;
use dsh_session::{
    AssistantChunk, AssistantMessage, Event, Payload as _, StepStart, ToolCall, ToolResult, TurnEnd,
};
use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

use super::aside::set_live;
use super::ending::Outcome;
use crate::interruption::{SILENCE, STOPPING};
use crate::paint::{Colour, Paint};
use crate::replay::list::counted;
use crate::replay::plan::subject;
use crate::visible::{fitted, shortened};

/// How often the live line moves.
const TICK: Duration = Duration::from_millis(120);
/// How wide a line is where the terminal does not say.
const WIDTH: usize = 80;
/// How wide tools' names are that are not very long.
const NAME: usize = 10;
/// What a line has besides its subject: indents, the verdict and the time.
const AROUND: usize = 30;
/// Less of a subject tells nothing.
const MIN_SUBJECT: usize = 12;

/// Tells what goes on, on standard error, which is a terminal.
pub(super) struct Progress {
    told: Sender<Told>,
}

/// What the thread is told.
enum Told {
    Event(Arc<Event>),
    Stopping,
    End(Box<Outcome>, Duration, Sender<()>),
    Hide(Sender<()>),
    Show,
    Gone(Sender<()>),
}

/// What is on the terminal.
struct Shown {
    bar: ProgressBar,
    /// Whether the terminal cannot take a line back, so that none lives.
    is_simple: bool,
    paint: Paint,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    step: Option<(u64, Instant)>,
    calls: HashMap<String, Call>,
    doing: &'static str,
}

struct Call {
    start: Instant,
    tool: String,
    subject: String,
}

/// The live line is away as long as this is held.
pub(super) struct Hidden<'p>(&'p Progress);

impl Progress {
    pub(super) fn start(paint: Paint) -> Self {
        let (told, heard) = mpsc::channel();
        // Without a thread nothing is shown.
        let _ = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || Shown::new(paint).follow(&heard));
        Self { told }
    }

    /// Takes the live line away until the result is dropped.
    pub(super) fn hide(&self) -> Hidden<'_> {
        self.tell_and_wait(Told::Hide);
        Hidden(self)
    }

    pub(super) fn event(&self, event: &Arc<Event>) {
        self.tell(Told::Event(Arc::clone(event)));
    }

    /// What was cancelled does not end at once.
    pub(super) fn stopping(&self) {
        self.tell(Told::Stopping);
    }

    /// The last line, and no live one any more.
    pub(super) fn end(&self, outcome: &Outcome, took: Duration) {
        self.tell_and_wait(|done| Told::End(Box::new(outcome.clone()), took, done));
    }

    /// Takes the live line away for good.
    pub(super) fn gone(&self) {
        self.tell_and_wait(Told::Gone);
    }

    fn tell(&self, told: Told) {
        // Nobody hears it where there is no thread.
        let _ = self.told.send(told);
    }

    /// Waits until it is shown, but not for a terminal that takes nothing.
    fn tell_and_wait(&self, told: impl FnOnce(Sender<()>) -> Told) {
        let (done, is_done) = mpsc::channel();
        self.tell(told(done));
        let _ = is_done.recv_timeout(SILENCE);
    }
}

impl Shown {
    fn new(paint: Paint) -> Self {
        let is_simple = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let bar = if is_simple { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        if !is_simple {
            bar.enable_steady_tick(TICK);
            set_live(Some(bar.clone()));
        }
        bar.set_message("starting");
        Self { bar, is_simple, paint, state: Mutex::default() }
    }

    fn follow(&self, heard: &Receiver<Told>) {
        for told in heard {
            match told {
                Told::Event(event) => self.event(&event),
                Told::Stopping => {
                    self.line(format_args!("{STOPPING} (Ctrl-C again: do not wait for it)"));
                }
                Told::End(outcome, took, done) => {
                    self.end(&outcome, took);
                    let _ = done.send(());
                }
                Told::Hide(done) => {
                    self.bar.disable_steady_tick();
                    self.bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
                    let _ = done.send(());
                }
                Told::Gone(done) => {
                    set_live(None);
                    self.bar.finish_and_clear();
                    let _ = done.send(());
                }
                Told::Show => {
                    if !self.is_simple {
                        self.bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
                        self.bar.enable_steady_tick(TICK);
                    }
                }
            }
        }
    }

    fn event(&self, event: &Event) {
        match event.kind() {
            StepStart::TYPE => self.step_begins(event),
            AssistantChunk::TYPE => self.piece(event),
            AssistantMessage::TYPE => self.answer(event),
            ToolCall::TYPE => self.call(event),
            ToolResult::TYPE => self.result(event),
            LlmRetry::TYPE => self.retry(event),
            TurnEnd::TYPE => self.bar.set_message("ending"),
            _ => {}
        }
    }

    fn end(&self, outcome: &Outcome, took: Duration) {
        set_live(None);
        let usage = outcome.usage;
        let (read, written) =
            (usage.input_tokens.saturating_add(usage.cache_read_tokens), usage.output_tokens);
        let tokens = match read.saturating_add(written) {
            0 => String::new(),
            _ => format!("{read} tokens read, {written} written, "),
        };
        let steps = counted(outcome.steps, "step");
        let line = format!("{steps}, {}, {tokens}{}", counted(outcome.tool_calls, "tool call"), shown(took));
        self.line(self.paint.with(Colour::Dim, line));
        self.bar.finish_and_clear();
    }

    fn line(&self, line: impl Display) {
        if self.is_simple {
            // Who does not see it misses no output.
            let _ = writeln!(io::stderr(), "{line}");
        } else {
            self.bar.println(line.to_string());
        }
    }

    fn step_begins(&self, event: &Event) {
        let Ok(Some(start)) = event.payload::<StepStart>() else { return };
        self.state.lock().step = Some((start.step, Instant::now()));
        self.doing("waiting for the model");
    }

    fn piece(&self, event: &Event) {
        let Ok(Some(piece)) = event.payload::<AssistantChunk>() else { return };
        match piece.chunk {
            StreamChunk::ReasoningDelta { .. } => self.doing("the model thinks"),
            StreamChunk::TextDelta { .. } => self.doing("the model writes"),
            StreamChunk::ToolCallDelta { .. } => self.doing("the model prepares a tool call"),
            _ => {}
        }
    }

    fn doing(&self, what: &'static str) {
        let mut state = self.state.lock();
        if state.doing != what {
            state.doing = what;
            self.bar.set_message(what);
        }
    }

    fn answer(&self, event: &Event) {
        let Some(message) = event.message() else { return };
        let Some((step, start)) = self.state.lock().step else { return };
        let calls =
            message.content.iter().filter(|block| matches!(block, ContentBlock::ToolCall { .. })).count();
        // The text of the last answer is the output.
        let text = message.text();
        let said = match text.trim().lines().next().unwrap_or_default() {
            said if calls > 0 && !said.is_empty() => format!("{}  ", shortened(said, self.room())),
            _ => String::new(),
        };
        let line = format!(
            "{}  {said}{}",
            self.paint.with(Colour::Bold, format_args!("step {step}")),
            self.paint.with(Colour::Dim, shown(start.elapsed()))
        );
        self.line(line);
    }

    fn call(&self, event: &Event) {
        let Ok(Some(call)) = event.payload::<ToolCall>() else { return };
        let subject = subject(&call.arguments);
        self.state.lock().doing = "";
        self.bar.set_message(shortened(&format!("{}: {subject}", call.name), self.room()));
        let made = Call { start: Instant::now(), tool: call.name, subject };
        self.state.lock().calls.insert(call.call_id, made);
    }

    fn result(&self, event: &Event) {
        let Ok(Some(result)) = event.payload::<ToolResult>() else { return };
        for block in &result.message.content {
            let ContentBlock::ToolResult { tool_call_id, content, is_error } = block else { continue };
            let Some(call) = self.state.lock().calls.remove(tool_call_id) else { continue };
            let text: String = content.iter().filter_map(text_of).collect();
            let (colour, verdict) = match is_error {
                Some(true) => {
                    let code = result.error.as_ref().map_or("failed", |error| error.code.as_str());
                    (Colour::Red, shortened(code, 2 * NAME))
                }
                _ => match failure(&call.tool, &text) {
                    Some(how) => (Colour::Yellow, how.to_owned()),
                    None => (Colour::Green, counted(text.lines().count(), "line")),
                },
            };
            let line = format!(
                "  {}  {}  {}  {}",
                self.paint.with(Colour::Cyan, fitted(&call.tool, NAME)),
                shortened(&call.subject, self.room()),
                self.paint.with(colour, verdict),
                self.paint.with(Colour::Dim, shown(call.start.elapsed()))
            );
            self.line(line);
            if is_error == &Some(true) {
                let why = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                self.line(format_args!("      {}", shortened(why, self.room() + NAME)));
            }
        }
    }

    fn retry(&self, event: &Event) {
        let Ok(Some(retry)) = event.payload::<LlmRetry>() else { return };
        let of = retry.max_retries.map_or_else(String::new, |most| format!(" of {most}"));
        let line = format!(
            "  retry {}{of} in {}: {}: {}",
            retry.retry,
            shown(Duration::from_millis(retry.delay_ms.max(0.0) as u64)),
            retry.failure.code,
            retry.failure.message
        );
        self.line(self.paint.with(Colour::Yellow, shortened(&line, self.room() + AROUND)));
    }

    /// How wide a subject may be.
    fn room(&self) -> usize {
        let size = terminal_size::terminal_size_of(std::io::stderr());
        let width = size.map_or(WIDTH, |(width, _)| usize::from(width.0));
        width.saturating_sub(AROUND).max(MIN_SUBJECT)
    }
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        _ => None,
    }
}

/// How a command failed, which is no failure of the call: `bash` says it in its last line.
fn failure<'t>(tool: &str, text: &'t str) -> Option<&'t str> {
    let last = text.lines().next_back().filter(|_| tool == "bash")?;
    let how = last.strip_prefix('[')?.strip_suffix(']')?;
    (how.starts_with("exit code: ") || how.starts_with("killed by signal: ")).then_some(how)
}

/// A time in as many digits as people want.
fn shown(took: Duration) -> String {
    if took < Duration::from_secs(1) {
        format!("{} ms", took.as_millis())
    } else {
        format!("{:.1} s", took.as_secs_f64())
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        self.0.tell(Told::Show);
    }
}
