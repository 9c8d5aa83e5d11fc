//! `dsh session show`: what a session holds.

use std::io::{self, Write};

use anyhow::{Context as _, anyhow};
use clap::ColorChoice;
use dsh_llm::{ContentBlock, Message, Source};
use dsh_session::{Event, EventData, Stored, TurnEndReason, closers};
use serde_json::json;

use super::place::Place;
use super::stored;
use super::times::moment;
use crate::cli::SessionShowArgs;
use crate::exit::{Exit, Failure, UNWRITTEN, say};
use crate::paint::{Colour, Paint};
use crate::visible::{shortened, visible};

/// How much of a text is shown where not all of it is asked for, in columns and lines.
const MAX_LINE: usize = 160;
const MAX_LINES: usize = 12;

pub(crate) fn show(place: &Place, args: &SessionShowArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let stored = stored(&*place.open()?, &args.id, place)?;
    if let Some(torn) = &stored.torn {
        say(format_args!("the end of the log is damaged and left out: {}", visible(torn)));
    }
    let mut out = io::stdout().lock();
    if args.json {
        return lines(&mut out, &stored).context(UNWRITTEN).map(|()| Exit::Fine).map_err(Failure::from);
    }
    let paint = Paint::for_stream(color, &io::stdout());
    let mut view = View { out: &mut out, paint, full: args.full, events: args.events };
    view.session(&stored).context(UNWRITTEN)?;
    for event in &stored.events {
        view.event(&event).map_err(|error| match error.downcast::<io::Error>() {
            Ok(error) => Failure::from(anyhow!(error).context(UNWRITTEN)),
            Err(error) => Failure::bad_input(error),
        })?;
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
}

impl<W: Write> View<'_, W> {
    fn session(&mut self, stored: &Stored) -> io::Result<()> {
        let header = &stored.header;
        let created = moment(i64::try_from(header.created_at_ms).unwrap_or(i64::MAX));
        writeln!(self.out, "{}", self.paint.with(Colour::Bold, visible(&header.id)))?;
        writeln!(self.out, "  created {created} UTC, {} events", stored.events.len())?;
        if let Some(cwd) = &header.cwd {
            writeln!(self.out, "  in {}", visible(cwd))?;
        }
        if let Some(parent) = &header.parent_session {
            let inherited = header.seed_length.unwrap_or(0);
            writeln!(self.out, "  fork of {}, {inherited} events inherited", visible(parent))?;
        }
        writeln!(self.out)
    }

    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        let data = match event.read() {
            Ok(data) => data,
            Err(bad) => return Ok(self.line(event, Colour::Red, &visible(&bad.to_string()))?),
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
                let code = result.error.as_ref().map_or("", |error| error.code.as_str());
                let (colour, what) = match (result.is_error(), code) {
                    (false, _) => (Colour::Green, "result".to_owned()),
                    (true, "") => (Colour::Red, "failed".to_owned()),
                    (true, code) => (Colour::Red, format!("failed, {}", visible(code))),
                };
                self.line(event, colour, &what)?;
                self.text(&result.content().iter().map(block).collect::<Vec<_>>().join("\n"))?;
            }
            EventData::ToolCall(_) if !self.events => {}
            _ if self.events => {
                let data = visible(event.data().get());
                let data = if self.full { data } else { shortened(event.data().get(), MAX_LINE) };
                self.line(event, Colour::Dim, &format!("{} {data}", visible(event.kind())))?;
            }
            _ => {}
        }
        Ok(())
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
        self.line(event, Colour::Cyan, &format!("{who}{replaces}"))?;
        for content in &message.content {
            self.text(&block(content))?;
        }
        Ok(())
    }

    fn line(&mut self, event: &Event, colour: Colour, what: &str) -> io::Result<()> {
        let seq = self.paint.with(Colour::Dim, format!("{:>6}", event.seq()));
        writeln!(self.out, "{seq}  {}", self.paint.with(colour, what))
    }

    /// A text below its line, cut unless all is asked for.
    fn text(&mut self, text: &str) -> io::Result<()> {
        let limit = if self.full { usize::MAX } else { MAX_LINES };
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(limit) {
            let line = if self.full { visible(line) } else { shortened(line, MAX_LINE) };
            writeln!(self.out, "        {line}")?;
        }
        match lines.len().saturating_sub(limit) {
            0 => Ok(()),
            more => writeln!(
                self.out,
                "        {}",
                self.paint.with(Colour::Dim, format!("… {more} more lines (--full)"))
            ),
        }
    }

    fn end(&mut self, stored: &Stored) -> io::Result<()> {
        match closers(&stored.events).len() {
            0 => Ok(()),
            count => writeln!(
                self.out,
                "\nThe last turn is open: the session was interrupted, or still runs. A resume closes it by {count} events."
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
