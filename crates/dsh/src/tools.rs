//! `dsh tools`: which tools agents can call, and one call with all its stations.
//!
//! Read `host` with `agent` (what both commands run on), then `list`, or `call` with `stations` (what is listened to),
//! `trace` (how it is told), `approve`, `jobs` and `long_output` (what the call leaves).

pub(crate) mod agent;
mod approve;
pub(crate) mod call;
pub(crate) mod given;
pub(crate) mod host;
mod jobs;
mod list;
mod long_output;
mod stations;
mod trace;

use clap::ColorChoice;

use crate::cli::{ToolsArgs, ToolsCommand};
use crate::exit::{Exit, Failure};

pub(crate) fn tools(args: &ToolsArgs, color: ColorChoice) -> Result<Exit, Failure> {
    match &args.command {
        ToolsCommand::Ls(args) => list::list(args, color),
        ToolsCommand::Call(args) => call::call(args, color),
    }
}
