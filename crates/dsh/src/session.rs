//! `dsh session`: looking at stored sessions, and making new ones of them.
//!
//! Read `place` with `database` (where sessions are), `trouble` (what is told of errors), `meant` (which session), then the
//! command: `list`, `show`, `export`, `check`, `fork`, `import`.
//!
//! **Architecture Invariant:** a command that only looks writes nothing: what is no store is not made one, and what is
//! damaged stays as it is.

mod check;
mod count;
mod database;
mod export;
mod fork;
mod import;
mod input;
mod list;
pub(crate) mod meant;
mod out;
pub(crate) mod place;
mod progress;
mod show;
mod times;
pub(crate) mod trouble;

use std::io::Write as _;

use anyhow::Context as _;
use clap::ColorChoice;

use crate::cli::{SessionArgs, SessionCommand};
use crate::exit::{Exit, Failure, UNWRITTEN};

use out::Out;
use place::Place;

pub(crate) fn session(args: &SessionArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let mut out = Out::new();
    let done = run(args, color, &mut out);
    let flushed = out.flush();
    if out.is_unread() {
        // Who closes a pipe has read enough. A check has gone on without a reader and knows its result.
        return Ok(done.unwrap_or(Exit::Fine));
    }
    let exit = done?;
    flushed.context(UNWRITTEN)?;
    Ok(exit)
}

fn run(args: &SessionArgs, color: ColorChoice, out: &mut Out) -> Result<Exit, Failure> {
    let store = args.store.as_deref();
    let place = || Place::named(store);
    match &args.command {
        SessionCommand::Ls(args) => list::list(&place()?, args, color, out),
        SessionCommand::Show(args) => show::show(&place()?, args, color, out),
        SessionCommand::Export(args) => export::export(&place()?, args, out),
        SessionCommand::Check(args) => check::check(store, args, color, out),
        SessionCommand::Fork(args) => fork::fork(&place()?, args, out),
        SessionCommand::Import(args) => import::import(&Place::to_fill(store)?, args, out),
    }
}
