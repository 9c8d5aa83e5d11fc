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

use dsh_hooks::bridge::LEFT_OUT;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::from_process();
    watch_for_warnings(&cli.command);
    let done = match cli.command {
        Command::Replay(args) => replay::replay(&args, cli.color),
        Command::Session(args) => session::session(&args, cli.color),
        Command::Tools(args) => tools::tools(&args, cli.color),
        Command::Hooks(args) => hooks::hooks(&args, cli.color),
        Command::Plugins(args) => plugins::list(&args, cli.color),
    };
    done.unwrap_or_else(|failure| failure.report()).into()
}

/// Warnings are printed. Of hooks that are left out `dsh hooks` tells by itself: of those that it was asked about.
fn watch_for_warnings(command: &Command) {
    let left_out = match command {
        Command::Hooks(_) => LevelFilter::OFF,
        Command::Replay(_) | Command::Session(_) | Command::Tools(_) | Command::Plugins(_) => {
            LevelFilter::WARN
        }
    };
    let which = Targets::new().with_default(LevelFilter::WARN).with_target(LEFT_OUT, left_out);
    let printed = fmt::layer().with_writer(io::stderr).without_time();
    tracing_subscriber::registry().with(printed.with_filter(which)).init();
}
