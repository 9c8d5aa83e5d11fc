//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes:
  0  everything was done (a replay that differs from its log is fine too)
  1  a run failed, was declined or was interrupted
  2  the input or the command line is wrong; nothing was run";

const EXAMPLES: &str = "\
Examples:
  dsh replay examples/data/session.jsonl
  dsh replay --yes --diff examples/data/session.jsonl
  dsh replay --yes --deny bash --unload-after 3 examples/data/session.jsonl
  dsh plugins";

const REPLAY_EXAMPLES: &str = "\
Examples:
  dsh replay session.jsonl                            list the calls, ask, run them in an empty folder
  dsh replay --yes --workspace . session.jsonl        run them in a copy of this folder
  dsh replay --yes --deny bash session.jsonl          refuse every call of bash
  dsh replay --yes --deny bash --unload-after 3 FILE  refuse bash during the first three calls only
  dsh replay --yes --json session.jsonl               one JSON object per line: plan, call…, summary";

const SAFETY: &str = "\
A log is a stranger's commands. They are listed first and run after a yes. They start in a temporary folder that is
removed at the end, never in the folder that the log names; but they run with your rights and are not confined, so
read the list. Ctrl-C ends the running command and the replay; a second one does not wait for them.";

/// A plugin host for agents.
#[derive(Debug, Parser)]
#[command(name = "dsh", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tool calls of a session log again and compare the results.
    #[command(after_help = format!("{SAFETY}\n\n{REPLAY_EXAMPLES}\n\n{EXIT_CODES}"))]
    Replay(ReplayArgs),
    /// List the plugins that are compiled in.
    #[command(after_help = EXIT_CODES)]
    Plugins(PluginsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The log: JSON lines, not compressed.
    pub(crate) file: PathBuf,
    /// Run without asking; needed where there is no terminal.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Run in a copy of this folder instead of an empty one.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Refuse every call of this tool; may be given more than once. A tool that neither is here nor is called in the
    /// log is an error.
    #[arg(long, value_name = "NAME")]
    pub(crate) deny: Vec<String>,
    /// Unload the plugin that refuses calls after N calls.
    #[arg(long, value_name = "N", requires = "deny")]
    pub(crate) unload_after: Option<usize>,
    /// Show how a result differs from the logged one.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PluginsArgs {
    /// Print the whole list as JSON, schemas included.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the configuration schema of one plugin.
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub(crate) schema: Option<String>,
}
