//! `dsh session show`: what a session holds.

use std::collections::HashMap;
use std::io::{self, Write};

use anyhow::Context as _;
use clap::ColorChoice;
use dsh_llm::{ContentBlock, Message, Source};
use dsh_session::{Event, EventData, Stored, TurnEndReason, closers};
use serde_json::json;

use super::count::count;
use super::meant::{stored, warn_of_damage};
use super::out::Out;
use super::place::Place;
use super::times::moment;
use crate::cli::SessionShowArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::paint::{Colour, Paint};
use crate::visible::{shortened, visible};
use crate::width::terminal_width;

/// How much of a text is shown where not all of it is asked for, in columns where there is no terminal, and in lines.
const MAX_LINE: usize = 160;
const MAX_LINES: usize = 12;
const MAX_NAME: usize = 40;
/// Narrower than this a text tells nothing; rather the terminal breaks the line.
const MIN_LINE: usize = 8;
/// Before a text, and before what is said of an event.
const INDENT: usize = 8;

pub(crate) fn show(
    place: &Place,
    args: &SessionShowArgs,
    color: ColorChoice,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let stored = stored(&*place.open()?, &args.id, place)?;
    warn_of_damage(&stored);
    if args.json {
        lines(out, &stored).context(UNWRITTEN)?;
        return Ok(Exit::Fine);
    }
    let columns = terminal_width().map_or(MAX_LINE, |width| width.saturating_sub(INDENT).max(MIN_LINE));
    let paint = Paint::for_stream(color, &io::stdout());
    let mut view = View {
        out,
        paint,
        columns,
        full: args.full,
        events: args.events,
        tools: HashMap::new(),
        is_empty: true,
    };
    view.session(&stored).context(UNWRITTEN)?;
    for event in &stored.events {
        view.event(&event).context(UNWRITTEN)?;
    }
    view.end(&stored).context(UNWRITTEN)?;
    Ok(Exit::Fine)
}

/// One JSON object per line: the header, then the events as they are stored.
fn lines(out: &mut impl Write, stored: &Stored) -> io::Result<()> {
    writeln!(
        out,
        "{}",
        json!({ "header": stored.header, "torn": stored.torn, "events": stored.events.len() })
    )?;
    for event in &stored.events {
        writeln!(out, "{}", event.to_line())?;
    }
    Ok(())
}

struct View<'o, W> {
    out: &'o mut W,
    paint: Paint,
    /// Whether texts are shown whole.
    full: bool,
    /// Whether every event has a line, not only what is said.
    events: bool,
    /// How wide a text may be.
    columns: usize,
    /// The tool of each call so far, by the call's id.
    tools: HashMap<String, String>,
    /// Whether no event had a line yet.
    is_empty: bool,
}

impl<W: Write> View<'_, W> {
    fn session(&mut self, stored: &Stored) -> io::Result<()> {
        let header = &stored.header;
        let created = moment(i64::try_from(header.created_at_ms).unwrap_or(i64::MAX));
        writeln!(self.out, "{}", self.paint.with(Colour::Bold, visible(&header.id)))?;
        let events = count(stored.events.len(), "event");
        writeln!(self.out, "  created {created} UTC, {events}")?;
        if let Some(cwd) = &header.cwd {
            writeln!(self.out, "  in {}", visible(cwd))?;
        }
        if let Some(parent) = &header.parent_session {
            let inherited = count(header.seed_length.unwrap_or(0), "event");
            writeln!(self.out, "  fork of {}, {inherited} inherited", visible(parent))?;
        }
        writeln!(self.out)
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let data = match event.read() {
            Ok(data) => data,
            Err(bad) => return self.line(event, Colour::Red, &visible(&bad.to_string())),
        };
        match data {
            EventData::TurnStart(turn) => self.line(event, Colour::Dim, &format!("turn {}", turn.turn))?,
            EventData::TurnEnd(end) => match &end.reason {
                TurnEndReason::Completed {} if !self.events => {}
                reason => {
                    self.line(event, Colour::Yellow, &format!("turn {} ended: {}", end.turn, why(reason)))?
                }
            },
            EventData::UserMessage(message) => self.message(event, &message)?,
            EventData::AssistantMessage(answer) => self.message(event, &answer.message)?,
            EventData::ToolResult(result) => {
                let tool = self.tools.get(result.call_id()).map_or("an unknown tool", String::as_str);
                let tool = shortened(tool, MAX_NAME);
                let code = result.error.as_ref().map_or("", |error| error.code.as_str());
                let (colour, what) = match (result.is_error(), code) {
                    (false, _) => (Colour::Green, format!("result of {tool}")),
                    (true, "") => (Colour::Red, format!("{tool} failed")),
                    (true, code) => (Colour::Red, format!("{tool} failed, {}", visible(code))),
                };
                let text = result.content().iter().map(block).collect::<Vec<_>>().join("\n");
                self.said(event, colour, &what, &[text])?;
            }
            EventData::ToolCall(call) => {
                if self.events {
                    self.data(event)?;
                }
                self.tools.insert(call.call_id, call.name);
            }
            _ if self.events => self.data(event)?,
            _ => {}
        }
        Ok(())
    }

    /// An event as it is stored.
    fn data(&mut self, event: &Event) -> io::Result<()> {
        let data = format!("{} {}", event.kind(), event.data().get());
        let data = if self.full { visible(&data) } else { shortened(&data, self.columns) };
        self.line(event, Colour::Dim, &data)
    }

    /// What somebody said; that it was nothing is said too.
    fn said(&mut self, event: &Event, colour: Colour, who: &str, texts: &[String]) -> io::Result<()> {
        if texts.iter().all(|text| text.trim().is_empty()) {
            return self.line(event, colour, &format!("{who} (empty)"));
        }
        self.line(event, colour, who)?;
        texts.iter().try_for_each(|text| self.text(text))
    }

    fn message(&mut self, event: &Event, message: &Message) -> io::Result<()> {
        let who = match &message.source {
            Source::User {} => "user".to_owned(),
            Source::Model { model, .. } => visible(model),
            Source::Plugin { plugin, .. } => format!("plugin {}", visible(plugin)),
            Source::Tool { .. } => "tool".to_owned(),
            _ => "somebody".to_owned(),
        };
        let replaces =
            if event.is_surface_replacement() { " (in the place of earlier messages)" } else { "" };
        for content in &message.content {
            if let ContentBlock::ToolCall { id, name, .. } = content {
                self.tools.insert(id.clone(), name.clone());
            }
        }
        let texts: Vec<String> = message.content.iter().map(block).collect();
        self.said(event, Colour::Cyan, &format!("{who}{replaces}"), &texts)
    }

    fn line(&mut self, event: &Event, colour: Colour, what: &str) -> io::Result<()> {
        self.is_empty = false;
        let seq = self.paint.with(Colour::Dim, format!("{:>6}", event.seq()));
        writeln!(self.out, "{seq}  {}", self.paint.with(colour, what))
    }

    /// A text below its line, cut unless all is asked for.
    fn text(&mut self, text: &str) -> io::Result<()> {
        let limit = if self.full { usize::MAX } else { MAX_LINES };
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(limit) {
            let line = if self.full { visible(line) } else { shortened(line, self.columns) };
            writeln!(self.out, "        {line}")?;
        }
        match lines.len().saturating_sub(limit) {
            0 => Ok(()),
            more => writeln!(
                self.out,
                "        {}",
                self.paint.with(Colour::Dim, format!("… {} (--full)", count(more, "more line")))
            ),
        }
    }

    fn end(&mut self, stored: &Stored) -> io::Result<()> {
        if self.is_empty && !stored.events.is_empty() {
            let events = count(stored.events.len(), "event");
            writeln!(self.out, "Nothing was said. Show what happened, {events}, with --events.")?;
        }
        match closers(&stored.events).len() {
            0 => Ok(()),
            closers => writeln!(
                self.out,
                "\nThe last turn is open: the session was interrupted, or still runs. The next agent that goes on with it adds {}.",
                count(closers, "event")
            ),
        }
    }
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } | ContentBlock::Reasoning { text } => text.clone(),
        ContentBlock::ToolCall { name, arguments, .. } => format!("→ {name} {arguments}"),
        ContentBlock::Image { .. } => "[image]".to_owned(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

fn why(reason: &TurnEndReason) -> String {
    match reason {
        TurnEndReason::Completed {} => "completed".to_owned(),
        TurnEndReason::Aborted { .. } => "cancelled".to_owned(),
        TurnEndReason::Blocked {} => "blocked".to_owned(),
        TurnEndReason::Error { error } => format!("{}: {}", visible(&error.code), visible(&error.message)),
        TurnEndReason::MaxTokens {} => "the answer was too long".to_owned(),
        TurnEndReason::Interrupted {} => "interrupted".to_owned(),
        other => visible(&serde_json::to_string(other).unwrap_or_default()),
    }
}
