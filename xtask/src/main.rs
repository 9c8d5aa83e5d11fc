//! `cargo xtask`: the repository's own rules from the command line.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match xtask::cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
