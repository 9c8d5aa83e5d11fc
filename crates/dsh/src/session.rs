//! `dsh session`: looking at stored sessions, and forking them.
//!
//! Read `place` (where sessions are), then the command: `list`, `show`, `export`, `check`, `fork`.

mod check;
mod export;
mod fork;
mod list;
mod place;
mod progress;
mod show;
mod times;

use anyhow::anyhow;
use clap::ColorChoice;
use dsh_session::{Storage, StorageError, Stored};

use crate::cli::{SessionArgs, SessionCommand};
use crate::exit::{Exit, Failure};
use crate::visible::visible;

use place::Place;

pub(crate) fn session(args: &SessionArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let place = || Place::named(args.store.as_deref());
    match &args.command {
        SessionCommand::Ls(args) => list::list(&place()?, args, color),
        SessionCommand::Show(args) => show::show(&place()?, args, color),
        SessionCommand::Export(args) => export::export(&place()?, args),
        SessionCommand::Check(args) => check::check(&place()?, args, color),
        SessionCommand::Fork(args) => fork::fork(&place()?, args),
    }
}

/// Reads one session; that there is none is the caller's mistake.
fn stored(storage: &dyn Storage, id: &str, place: &Place) -> Result<Stored, Failure> {
    let found = storage.read(id).map_err(unreadable)?;
    found.ok_or_else(|| {
        let id = visible(id);
        Failure::bad_input(anyhow!("there is no session `{id}` in {place}; `dsh session ls` names them"))
    })
}

/// A log that cannot be read is bad input; a place that cannot be used is a failure.
fn unreadable(error: StorageError) -> Failure {
    match error {
        StorageError::Corrupt { .. } | StorageError::Unsupported { .. } | StorageError::Exists { .. } => {
            Failure::bad_input(error)
        }
        other => Failure::from(other),
    }
}
