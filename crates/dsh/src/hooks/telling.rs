//! How it is told what hooks answer: each when it has ended, and in the end what comes of it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ColorChoice;
use dsh_hooks::{Dialect, Handler, HookRan, Point};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::hooks::firing::{Decision, Outcome};
use crate::hooks::occasion::Occasion;
use crate::hooks::stage::Loaded;
use crate::paint::{Colour, Paint};
use crate::visible::{shortened, visible, visible_json};
use crate::width::terminal_width;

/// How much of a command is shown where there is no terminal.
const MAX_COMMAND: usize = 100;

/// Tells on standard output.
pub(crate) struct Telling {
    form: Form,
    hooks: Vec<Known>,
    /// Only what hooks read is told: none runs.
    payloads: bool,
    told: Mutex<Told>,
    /// Ends the hooks when nobody takes what is told.
    unheard: CancellationToken,
}

enum Form {
    Text { paint: Paint, width: Option<usize> },
    Json,
}

/// A hook of the settings.
struct Known {
    file: PathBuf,
    /// How many hooks of its file stand before it.
    index: usize,
    hook: Handler,
}

#[derive(Default)]
struct Told {
    /// The hooks that were told of, by their places in the list.
    hooks: Vec<usize>,
    failed: Option<io::Error>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Line<'a> {
    Firing {
        point: Point,
        dialect: Dialect,
        workspace: &'a str,
        settings: Vec<&'a Path>,
        #[serde(flatten)]
        occasion: &'a Occasion,
    },
    Payload {
        hook: Option<usize>,
        command: &'a str,
        payload: &'a str,
    },
    Hook {
        hook: Option<usize>,
        handler_id: &'a str,
        file: Option<&'a Path>,
        point: Point,
        matcher: Option<&'a str>,
        command: &'a str,
        exit_code: Option<i32>,
        /// What ended it if it did not end by itself, whatever exit code it gave then; or why it did not run.
        ended: Option<String>,
        duration_ms: f64,
        decision: Option<dsh_hooks::Said>,
        reason: Option<&'a str>,
        stop: Option<&'a str>,
        context: Option<&'a str>,
        updated_input: Option<&'a Map<String, Value>>,
        /// What it printed that is no answer.
        stdout: Option<&'a str>,
        stderr: &'a str,
    },
    Outcome {
        #[serde(flatten)]
        outcome: &'a Outcome,
        hooks: usize,
        failed: usize,
    },
}

impl Telling {
    /// `unheard` is cancelled when standard output cannot be written.
    pub(crate) fn new(
        json: bool,
        payloads: bool,
        color: ColorChoice,
        files: &[Loaded],
        unheard: CancellationToken,
    ) -> Self {
        let form = match json {
            true => Form::Json,
            false => Form::Text { paint: Paint::for_stream(color, &io::stdout()), width: terminal_width() },
        };
        let known = files.iter().flat_map(|loaded| {
            let hooks = loaded.hooks.iter().enumerate();
            hooks.map(|(index, hook)| Known { file: loaded.file.clone(), index, hook: hook.clone() })
        });
        Self { form, hooks: known.collect(), payloads, told: Mutex::default(), unheard }
    }

    /// Tells what happens.
    pub(crate) fn begin(
        &self,
        point: Point,
        dialect: Dialect,
        workspace: &Path,
        files: &[Loaded],
        occasion: &Occasion,
    ) {
        self.write(|form, out| match form {
            Form::Json => {
                let workspace = &*workspace.to_string_lossy();
                let settings = files.iter().map(|loaded| &*loaded.file).collect();
                line(out, &Line::Firing { point, dialect, workspace, settings, occasion })
            }
            Form::Text { paint, .. } => {
                let of = occasion.tool().map_or_else(String::new, |tool| format!(" of {}", visible(tool)));
                let head = format!("{point}{of} in {}", visible(&workspace.to_string_lossy()));
                writeln!(out, "{}", paint.with(Colour::Bold, head))
            }
        });
    }

    /// Tells of a hook that has ended, or that would run.
    pub(crate) fn hook(&self, ran: &HookRan) {
        let place = self.place_of(ran);
        let (number, file) = (place.map(|at| at + 1), place.map(|at| &*self.hooks[at].file));
        let (command, payload) = (&*ran.handler.command, &*ran.payload);
        self.write(|form, out| match form {
            Form::Json if self.payloads => line(out, &Line::Payload { hook: number, command, payload }),
            Form::Json => line(out, &told(ran, number, file)),
            Form::Text { paint, width } => {
                head(out, *paint, *width, number, command)?;
                match self.payloads {
                    true => writeln!(out, "    {}", visible(payload)),
                    false => answer(out, *paint, ran),
                }
            }
        });
    }

    /// Tells what comes of it, of which there is nothing to tell if no hook ran.
    pub(crate) fn end(&self, outcome: &Outcome, ran: &[HookRan]) {
        let (hooks, failed) = (ran.len(), ran.iter().filter(|ran| has_failed(ran)).count());
        self.write(|form, out| match form {
            Form::Json if self.payloads => Ok(()),
            Form::Json => line(out, &Line::Outcome { outcome, hooks, failed }),
            Form::Text { paint, .. } => {
                if hooks == 0 {
                    writeln!(out, "  no hook runs for this")?;
                }
                match self.payloads {
                    true => Ok(()),
                    false => end(out, *paint, outcome, hooks, failed),
                }
            }
        });
    }

    /// What failed when nobody could take what was told.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.told.lock().failed.take()
    }

    /// Which hook of the settings it is. Two files may have the same one at the same place.
    fn place_of(&self, ran: &HookRan) -> Option<usize> {
        let is_it = |known: &Known| {
            let (mine, its) = (&known.hook, &ran.handler);
            known.index == ran.index && mine.point == its.point && mine.command == its.command
        };
        let mut told = self.told.lock();
        let places: Vec<usize> = (0..self.hooks.len()).filter(|at| is_it(&self.hooks[*at])).collect();
        let place = places.iter().find(|at| !told.hooks.contains(at)).or(places.first()).copied();
        told.hooks.extend(place);
        place
    }

    fn write(&self, tell: impl FnOnce(&Form, &mut dyn Write) -> io::Result<()>) {
        if self.told.lock().failed.is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        let written = tell(&self.form, &mut out).and_then(|()| out.flush());
        if let Err(error) = written {
            self.told.lock().failed = Some(error);
            self.unheard.cancel();
        }
    }
}

fn line(out: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    writeln!(out, "{}", visible_json(&serde_json::to_string(line)?))
}

fn told<'a>(ran: &'a HookRan, hook: Option<usize>, file: Option<&'a Path>) -> Line<'a> {
    let (run, output) = (&ran.run, &ran.run.output);
    Line::Hook {
        hook,
        handler_id: &ran.handler_id,
        file,
        point: ran.handler.point,
        matcher: ran.handler.matcher.pattern(),
        command: &ran.handler.command,
        exit_code: run.exit_code,
        ended: run.ended.as_ref().map(ToString::to_string),
        duration_ms: milliseconds(run.duration),
        decision: output.said,
        reason: output.reason.as_deref(),
        stop: output.stop.as_ref().map(|stop| stop.reason.as_deref().unwrap_or_default()),
        context: output.additional_context.as_deref(),
        updated_input: output.updated_input.as_ref(),
        stdout: output.plain_stdout.as_deref(),
        stderr: &run.stderr,
    }
}

fn head(
    out: &mut dyn Write,
    paint: Paint,
    width: Option<usize>,
    number: Option<usize>,
    command: &str,
) -> io::Result<()> {
    let number = number.map_or_else(|| "#?".to_owned(), |number| format!("#{number}"));
    let room = width.map_or(MAX_COMMAND, |columns| columns.saturating_sub(number.len() + 3).max(1));
    writeln!(out, "  {} {}", paint.with(Colour::Cyan, number), shortened(command, room))
}

fn answer(out: &mut dyn Write, paint: Paint, ran: &HookRan) -> io::Result<()> {
    let (run, output) = (&ran.run, &ran.run.output);
    let ended = run.ended.as_ref().map(|ended| format!(": {}", visible(&ended.to_string())));
    let ended = ended.unwrap_or_default();
    let how = match run.exit_code {
        Some(code) => format!("exit code {code}{ended}"),
        None => format!("no exit code{ended}"),
    };
    let decision = match (output.said.and_then(|said| serde_json::to_value(said).ok()), &output.stop) {
        (Some(Value::String(word)), _) => word,
        (_, Some(_)) => "stop".to_owned(),
        (_, None) => "decides nothing".to_owned(),
    };
    let colour = match output.decision() {
        Some(dsh_hooks::Decision::Deny) => Colour::Red,
        Some(dsh_hooks::Decision::Ask) => Colour::Yellow,
        Some(dsh_hooks::Decision::Allow) => Colour::Green,
        None => Colour::Dim,
    };
    writeln!(out, "    {how} after {:.1} ms: {}", milliseconds(run.duration), paint.with(colour, decision))?;
    let stop = output.stop.as_ref().and_then(|stop| stop.reason.as_deref());
    let input = output.updated_input.as_ref().map(|input| Value::Object(input.clone()).to_string());
    // By exit code 2 the errors are the reason.
    let errors = Some(run.stderr.trim()).filter(|errors| output.reason.as_deref() != Some(*errors));
    for (what, text) in [
        ("reason", output.reason.as_deref()),
        ("stop", stop),
        ("context", output.additional_context.as_deref()),
        ("input", input.as_deref()),
        ("stdout", output.plain_stdout.as_deref()),
        ("stderr", errors),
    ] {
        block(out, "    ", what, text)?;
    }
    Ok(())
}

/// A text behind a word, its further lines below the first one.
fn block(out: &mut dyn Write, indent: &str, what: &str, text: Option<&str>) -> io::Result<()> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(()) };
    for (index, line) in text.trim_end().split('\n').enumerate() {
        let what = if index == 0 { what } else { "" };
        writeln!(out, "{indent}{what:9}{}", visible(line))?;
    }
    Ok(())
}

/// Whether a hook neither judged nor passed: nobody knows what it would have said.
fn has_failed(ran: &HookRan) -> bool {
    ran.run.ended.is_some() || !matches!(ran.run.exit_code, Some(0 | 2))
}

fn end(out: &mut dyn Write, paint: Paint, outcome: &Outcome, hooks: usize, failed: usize) -> io::Result<()> {
    let text = match outcome.decision {
        Decision::Allow if outcome.rewritten => "the call may be made, with other arguments",
        Decision::Allow => "the call may be made",
        Decision::Ask if outcome.rewritten => "somebody would be asked about the call, with other arguments",
        Decision::Ask => "somebody would be asked about the call",
        Decision::Deny => "the call would be denied",
        Decision::Accept => "the result would reach the model",
        Decision::Block => "the result would be kept from the model, which reads the reason instead",
        Decision::Enter => "the message would reach the model",
        Decision::Reject => "the message would not reach the model, and the turn would end",
        Decision::End => "the turn would end",
        Decision::Continue => "the turn would go on, and the model would be told the reason",
        Decision::Pass => "there is nothing to decide",
    };
    let colour = match outcome.decision {
        Decision::Ask | Decision::Continue => Colour::Yellow,
        decision if decision.goes_on() && failed > 0 => Colour::Yellow,
        decision if decision.goes_on() => Colour::Green,
        _ => Colour::Red,
    };
    let failures = match (failed, hooks) {
        (0, _) => String::new(),
        (1, 1) => "; the hook failed".to_owned(),
        (failed, hooks) => format!("; {failed} of {hooks} hooks failed"),
    };
    writeln!(out, "\n{}", paint.with(colour, format!("{text}{failures}")))?;
    block(out, "  ", "reason", outcome.reason.as_deref())?;
    let input = outcome.input.as_ref().filter(|_| outcome.rewritten).map(Value::to_string);
    block(out, "  ", "input", input.as_deref())?;
    outcome.contexts.iter().try_for_each(|context| block(out, "  ", "told", Some(context)))
}

fn milliseconds(duration: Duration) -> f64 {
    // A tenth of a millisecond is as exact as it is.
    (duration.as_secs_f64() * 10_000.0).round() / 10.0
}
