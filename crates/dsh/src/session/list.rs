//! `dsh session ls`: what is stored.

use std::io::{self, Write};

use anyhow::Context as _;
use clap::ColorChoice;
use dsh_session::{Listed, Origin};
use unicode_width::UnicodeWidthStr;

use super::check::nothing_in;
use super::out::Out;
use super::place::Place;
use super::times::moment;
use super::trouble::told;
use crate::cli::SessionLsArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::paint::{Colour, Paint};
use crate::visible::{fitted, shortened};
use crate::width::terminal_width;

const HEADINGS: [&str; 4] = ["SESSION", "CREATED (UTC)", "FROM", "FOLDER"];
const MAX_ID: usize = 48;
/// Where there is no terminal whose width could be followed.
const MAX_FOLDER: usize = 200;
/// Narrower than this a folder tells nothing; rather the terminal breaks the line.
const MIN_FOLDER: usize = 8;

pub(crate) fn list(
    place: &Place,
    args: &SessionLsArgs,
    color: ColorChoice,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut sessions = place.open()?.list().map_err(|error| told(error, place))?;
    sessions.sort_by(|one, two| {
        let key =
            |listed: &Listed| (std::cmp::Reverse(listed.header.created_at_ms), listed.header.id.clone());
        key(one).cmp(&key(two))
    });
    if args.json {
        let headers: Vec<_> = sessions.iter().map(|listed| &listed.header).collect();
        serde_json::to_writer_pretty(&mut *out, &headers).context(UNWRITTEN)?;
        writeln!(out).context(UNWRITTEN)?;
    } else if sessions.is_empty() {
        writeln!(out, "{}", nothing_in(place)).context(UNWRITTEN)?;
    } else {
        table(out, Paint::for_stream(color, &io::stdout()), &sessions).context(UNWRITTEN)?;
    }
    Ok(Exit::Fine)
}

fn table(out: &mut impl Write, paint: Paint, sessions: &[Listed]) -> io::Result<()> {
    let rows: Vec<[String; 4]> = sessions.iter().map(row).collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].width()).chain([HEADINGS[column].width()]).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    // The last column takes what the terminal leaves.
    let others = widths.iter().map(|width| width + 2).sum::<usize>();
    let room = terminal_width().map_or(MAX_FOLDER, |width| width.saturating_sub(others).max(MIN_FOLDER));
    let line = |cells: [&str; 4]| {
        let [id, created, from, folder] = cells;
        let [first, second, third] = widths;
        format!(
            "{}  {}  {}  {}",
            fitted(id, first),
            fitted(created, second),
            fitted(from, third),
            shortened(folder, room)
        )
    };
    writeln!(out, "{}", paint.with(Colour::Bold, line(HEADINGS)))?;
    for row in &rows {
        writeln!(out, "{}", line(row.each_ref().map(String::as_str)).trim_end())?;
    }
    writeln!(out, "\nWhat one of them holds: dsh session show SESSION")
}

fn row(listed: &Listed) -> [String; 4] {
    let header = &listed.header;
    let from = match (&header.parent_session, header.origin) {
        (Some(parent), _) => format!("fork of {}", shortened(parent, MAX_ID)),
        (None, Some(Origin::Subagent)) => "agent".to_owned(),
        (None, None) => "-".to_owned(),
    };
    let created = moment(i64::try_from(header.created_at_ms).unwrap_or(i64::MAX));
    let folder = header.cwd.as_deref().unwrap_or("-");
    [shortened(&header.id, MAX_ID), created, from, folder.to_owned()]
}
