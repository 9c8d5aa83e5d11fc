//! `dsh hooks`: what the hooks of a settings file would do, and what they do.
//!
//! Read `settings` (which files) with `dialect` (whose), then `check` with `lint` (what is wrong), `program` (what a command
//! needs), `coverage` (which hook for which tool) and `listing` (how it is told); or `run` with `occasion` (what happens),
//! `stage` (where), `gate` (whether hooks really run), `firing` (that it happens) and `telling`.

mod check;
pub(crate) mod coverage;
pub(crate) mod dialect;
mod firing;
mod gate;
pub(crate) mod lint;
mod listing;
mod occasion;
mod program;
mod run;
mod settings;
mod stage;
mod telling;

use clap::ColorChoice;

use crate::cli::{HooksArgs, HooksCommand};
use crate::exit::{Exit, Failure};

pub(crate) fn hooks(args: &HooksArgs, color: ColorChoice) -> Result<Exit, Failure> {
    match &args.command {
        HooksCommand::Check(args) => check::check(args, color),
        HooksCommand::Run(args) => run::run(args, color),
    }
}
