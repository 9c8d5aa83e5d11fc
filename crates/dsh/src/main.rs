//! `dsh`: runs what the logs of agents hold, and later agents, on a plugin host.
//!
//! Read `cli`, then `replay`, `session`, `tools`, `hooks` or `plugins`.

mod app;
mod cli;
mod deny;
mod exit;
mod hooks;
mod interruption;
mod nearest;
mod paint;
mod plugins;
mod replay;
mod session;
mod tools;
mod visible;
mod width;
mod workbench;

use std::io;
use std::process::ExitCode;

use tracing::level_filters::LevelFilter;

use cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::from_process();
    tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(LevelFilter::WARN).without_time().init();
    let done = match cli.command {
        Command::Replay(args) => replay::replay(&args, cli.color),
        Command::Session(args) => session::session(&args, cli.color),
        Command::Tools(args) => tools::tools(&args, cli.color),
        Command::Hooks(args) => hooks::hooks(&args, cli.color),
        Command::Plugins(args) => plugins::list(&args, cli.color),
    };
    done.unwrap_or_else(|failure| failure.report()).into()
}
