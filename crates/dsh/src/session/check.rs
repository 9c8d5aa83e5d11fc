//! `dsh session check`: what is wrong with logs, line by line.
//!
//! Read `checked` (what there is to say), `log` (of one file), `store` (of many, and where they are), `rows` (of a
//! database), then `told`, which says it.

mod checked;
mod log;
#[cfg(feature = "sqlite")]
mod rows;
mod store;
mod told;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ColorChoice;

use super::database;
use super::input;
use super::out::Out;
use super::place::Place;
use super::progress;
use crate::cli::SessionCheckArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::paint::Paint;
use crate::visible::visible;

use checked::Checked;

/// What is to be checked.
enum Subject {
    /// A log, by itself.
    File(PathBuf),
    /// All logs below a folder, each by itself.
    Files(PathBuf),
    /// All logs of a store, also for where they are.
    Store(PathBuf),
    Database(PathBuf),
}

pub(crate) fn check(
    store: Option<&Path>,
    args: &SessionCheckArgs,
    color: ColorChoice,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut report = Report { json: args.json, paint: Paint::for_stream(color, &std::io::stdout()), out };
    let checked = match subject(store, args)? {
        Subject::File(path) => report.all([path], log::look)?,
        Subject::Files(folder) => report.all(logs_below(&folder)?, log::look)?,
        Subject::Store(root) => {
            let mut store = store::Store::new(&root);
            let mut checked = report.all(logs_below(&root)?, |log| store.look(log))?;
            checked.extend(report.all(store.mixed(), |mixed| mixed)?);
            checked
        }
        Subject::Database(path) => database_checked(&mut report, &path)?,
    };
    if checked.is_empty() && !args.json {
        let place = match &args.path {
            Some(path) => visible(&path.display().to_string()),
            None => nothing_in(&Place::named(store)?),
        };
        let what = if args.path.is_some() { "there are no logs to check in " } else { "" };
        writeln!(report.out, "{what}{place}").context(UNWRITTEN)?;
    }
    Ok(if checked.iter().all(|is_fine| *is_fine) { Exit::Fine } else { Exit::Failed })
}

/// What is said of a place without sessions.
pub(crate) fn nothing_in(place: &Place) -> String {
    match place.hint() {
        None => format!("there are no sessions in {place}"),
        Some(hint) => format!("there are no sessions in {place}; {hint}"),
    }
}

/// Whether nothing is wrong with a log by itself.
pub(crate) fn is_fine(path: &Path) -> bool {
    log::look(path.to_owned()).is_fine()
}

fn subject(store: Option<&Path>, args: &SessionCheckArgs) -> Result<Subject, Failure> {
    let Some(path) = &args.path else {
        return Ok(match Place::named(store)? {
            Place::Folder(root) => Subject::Store(root),
            Place::Database(path) => Subject::Database(path),
        });
    };
    if input::is_standard_input(path) {
        return Ok(Subject::File(path.clone()));
    }
    let meta = fs::metadata(path)
        .with_context(|| format!("cannot check {}", visible(&path.display().to_string())))
        .map_err(Failure::bad_input)?;
    Ok(match meta.is_dir() {
        true => Subject::Files(path.clone()),
        // A pipe is not asked: what was read of it would be gone.
        false if meta.is_file() && database::is_database(path) => {
            let _ = database::look(path)?;
            Subject::Database(std::path::absolute(path)?)
        }
        false => Subject::File(path.clone()),
    })
}

#[cfg(feature = "sqlite")]
fn database_checked(report: &mut Report<'_>, path: &Path) -> Result<Vec<bool>, Failure> {
    let place = Place::Database(path.to_owned());
    let rows = rows::Rows::new(&place, path)?;
    report.all(rows.sessions()?, |session| rows.look(session))
}

#[cfg(not(feature = "sqlite"))]
fn database_checked(_: &mut Report<'_>, path: &Path) -> Result<Vec<bool>, Failure> {
    // Says that this build has no databases.
    Place::Database(path.to_owned()).open().map(|_| Vec::new())
}

/// All logs below a folder, in the order of their paths.
fn logs_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut logs = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let shown = || visible(&folder.display().to_string());
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // The store of a user who has none yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(Failure::from(anyhow!(error).context(format!("cannot read {}", shown()))));
            }
        };
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read {}", shown()))?.path();
            // Links are not followed: a store has none, and one could lead in a circle.
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if meta.is_dir() {
                folders.push(path);
            } else if name.ends_with(".jsonl") || name.ends_with(".jsonl.zstd") {
                logs.push(path);
            }
        }
    }
    logs.sort();
    Ok(logs)
}

/// Where results go.
struct Report<'o> {
    json: bool,
    paint: Paint,
    out: &'o mut Out,
}

impl Report<'_> {
    /// Checks one after another and says what came of it; gives which are fine.
    fn all<S>(
        &mut self,
        subjects: impl IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
        mut look: impl FnMut(S) -> Checked,
    ) -> Result<Vec<bool>, Failure> {
        let subjects = subjects.into_iter();
        let bar = progress::bar(subjects.len() as u64, "checking");
        let mut fine = Vec::new();
        for subject in subjects {
            let checked = look(subject);
            fine.push(checked.is_fine());
            bar.suspend(|| self.one(&checked))?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(fine)
    }

    fn one(&mut self, checked: &Checked) -> Result<(), Failure> {
        let written = match self.json {
            true => writeln!(self.out, "{}", told::json(checked)),
            false => told::text(self.out, self.paint, checked),
        };
        match written.and_then(|()| self.out.flush()) {
            // The result is the exit code too.
            Err(_) if self.out.is_unread() => Ok(()),
            written => Ok(written.context(UNWRITTEN)?),
        }
    }
}
