//! `dsh`: runs agents, and what their logs hold, on a plugin host.
//!
//! Read `cli`, then `run` with `doctor`, `replay`, `session`, `tools`, `hooks` or `plugins`.
//!
//! # The crates of the harness
//!
//! The program is one way to put them together; `docs/guide` does it in code, and the plugin host has
//! [its own front page](cordis).
//!
//! | to | crate |
//! |---|---|
//! | offer tools, guard calls, execute them | [`dsh_tools`], with policies: [`dsh_timeout_policy`], [`dsh_retry_policy`], [`dsh_role_policy`], [`dsh_repeat_policy`], [`dsh_enrichment_policy`], [`dsh_metrics_policy`], [`dsh_checkpoint_policy`] |
//! | make agents and talk to them | [`dsh_agent`]; what drives them is [`dsh_agent_loop`] |
//! | ask models | [`dsh_llm`], with [`dsh_llm_deepseek`], [`dsh_llm_replay`], [`dsh_llm_retry`] |
//! | tell agents something before the conversation | [`dsh_prompt`] |
//! | read and keep what was said and done | [`dsh_session`], in files by [`dsh_session_jsonl`]; what is derived from it, [`dsh_session_projection`], [`dsh_token_meter`], [`dsh_session_title`] |
//! | have a person or a program asked | [`dsh_approval`], with [`dsh_approval_terminal`], [`dsh_approval_channel`] |
//! | run programs and commands | [`dsh_subprocess`], [`dsh_shell`], [`dsh_jobs`], done by [`dsh_subprocess_local`], [`dsh_shell_local`], [`dsh_jobs_local`] |
//! | use the tools that there are | [`dsh_tool_bash`], [`dsh_tool_fs`], [`dsh_tool_jobs`] |
//! | have the user's own programs asked | [`dsh_hooks`], as [`dsh_hooks_claude_code`] and [`dsh_hooks_codex`] write them |
//!
//! Each crate's front page says what it is and shows it in a few lines; its `keys` are its contract.

mod app;
mod cli;
mod deny;
mod doctor;
mod exit;
mod home;
mod hooks;
mod interruption;
mod nearest;
mod paint;
mod plugins;
mod replay;
mod run;
mod session;
mod tools;
mod visible;
mod width;
mod workbench;

use std::process::ExitCode;

use dsh_hooks::bridge::LEFT_OUT;
use dsh_step_limit_policy::REACHED;
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
        Command::Run(args) => run::run(&args, cli.color),
        Command::Doctor(args) => doctor::doctor(&args, cli.color),
        Command::Replay(args) => replay::replay(&args, cli.color),
        Command::Session(args) => session::session(&args, cli.color),
        Command::Tools(args) => tools::tools(&args, cli.color),
        Command::Hooks(args) => hooks::hooks(&args, cli.color),
        Command::Plugins(args) => plugins::list(&args, cli.color),
    };
    done.unwrap_or_else(|failure| failure.report()).into()
}

/// Warnings are printed. Of hooks that are left out `dsh hooks` tells by itself: of those that it was asked about. Of a limit of
/// steps `dsh run` does, by the name of its option.
fn watch_for_warnings(command: &Command) {
    let left_out = match command {
        Command::Hooks(_) => LevelFilter::OFF,
        Command::Run(_)
        | Command::Doctor(_)
        | Command::Replay(_)
        | Command::Session(_)
        | Command::Tools(_)
        | Command::Plugins(_) => LevelFilter::WARN,
    };
    let which = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target(LEFT_OUT, left_out)
        .with_target(REACHED, LevelFilter::OFF);
    let printed = fmt::layer().with_writer(run::Aside::default).without_time();
    tracing_subscriber::registry().with(printed.with_filter(which)).init();
}
