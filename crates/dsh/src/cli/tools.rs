//! The command line of `dsh tools`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub(super) const TOOLS_EXAMPLES: &str = "\
Examples:
  dsh tools ls                                      what every agent can call
  dsh tools ls --deny bash                          what an agent can call that bash is kept from
  dsh tools call read '{\"file_path\": \"README.md\"}'  one call, station by station";

const LS_EXAMPLES: &str = "\
Examples:
  dsh tools ls                              the tools of the plugins that are compiled in
  dsh tools ls --deny bash                  as an agent sees them that bash is kept from
  dsh tools ls --agent reader --allow read  as an agent sees them that is left nothing else
  dsh tools ls --json                       one JSON object per tool, with what the model is sent";

const LS_SHOWN: &str = "\
RUNS says how the tools service runs a tool's body. `parallel`: beside others of the same batch, for all
arguments or for some; `exclusive`: alone. `blocking`: on a thread of its own. TIMEOUT is the tool's own; `-` is none.
The policy timeout-policy is what ends calls by it; the command mounts none.";

const CALL_EXAMPLES: &str = "\
Examples:
  dsh tools call read '{\"file_path\": \"README.md\"}'                                   a file is read
  dsh tools call bash '{\"command\": \"ls\", \"description\": \"list\"}' --workspace /tmp    in another folder
  dsh tools call bash --deny bash '{\"command\": \"ls\", \"description\": \"list\"}'         a guard refuses it
  dsh tools call bash --approve no '{\"command\": \"ls\", \"description\": \"list\"}'        somebody is asked and says no
  dsh tools call bash --timeout 500 '{\"command\": \"sleep 9\", \"description\": \"wait\"}'  a deadline ends it
  dsh tools call read --json - < arguments.json                                      one JSON object per line";

const CALL_SAFETY: &str = "\
The tool is really run, with your rights and not confined, in the folder that you are in or that --workspace names. Nothing
is stored: the session is in memory. Only the files with long output that a result names are kept. Ctrl-C cancels the call, which still comes to its result; a second one does not wait
for it.";

pub(super) const TOOLS_EXIT_CODES: &str = "\
Exit codes:
    0  everything was done, and a tool that was called succeeded
    1  the call was refused, failed or was cancelled; it fails also where the tool does not take the arguments; or a job
       that was waited for did not come to its own end
    2  the command line is wrong, or the arguments are no text that can be read as JSON; nothing was run
  130  Ctrl-C at the question of --approve ask; nothing was run";

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools that agents can call, and which plugins offer them.
    #[command(after_help = format!("{LS_SHOWN}\n\n{LS_EXAMPLES}\n\n{TOOLS_EXIT_CODES}"))]
    Ls(ToolsLsArgs),
    /// Call a tool as an agent would, and show each station that the call passes.
    #[command(after_help = format!("{CALL_SAFETY}\n\n{CALL_EXAMPLES}\n\n{TOOLS_EXIT_CODES}"))]
    Call(ToolsCallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ToolsLsArgs {
    /// Show the tools as an agent of this name sees them. There is no configuration of agents: one is made for this, which
    /// sees what all agents see unless --allow or --deny restrict it.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Keep a tool from the agent, which needs no name for it; may be given more than once.
    #[arg(long, value_name = "TOOL")]
    pub(crate) deny: Vec<String>,
    /// Keep all tools but this one from the agent, which needs no name for it; may be given more than once.
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,
    /// Print one JSON object per tool: what the model is sent, the schema of the value, and how the body runs.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsCallArgs {
    /// The tool.
    pub(crate) name: String,
    /// Its arguments, a JSON object; `-` is standard input. Without them, or where there is nothing to read: `{}`.
    #[arg(value_name = "JSON")]
    pub(crate) arguments: Option<String>,
    /// The name of the agent that calls; it is made for this.
    #[arg(long, value_name = "NAME", default_value = "cli")]
    pub(crate) agent: String,
    /// Refuse calls of this tool by a guard of the agent; may be given more than once.
    #[arg(long, value_name = "TOOL")]
    pub(crate) deny: Vec<String>,
    /// End the tool's body when it runs longer than this many milliseconds, at least 1, unless the tool has a timeout of its
    /// own. It is the body's time: waiting for approval does not count.
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) timeout: Option<NonZeroU64>,
    /// Have the call ask for approval, which nothing does by itself, and answer in this way.
    #[arg(long, value_name = "ANSWER")]
    pub(crate) approve: Option<Approve>,
    /// Wait for the jobs that the call has started, and print what they say. Without it they are ended with the program.
    #[arg(long)]
    pub(crate) wait: bool,
    /// The folder that the tools work in. By itself the one that you are in.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Print one JSON object per line, told apart by `type`: the `call`, a `station` for each that is reached or left, of
    /// which those of the station `output` have what the body wrote, the `result`, and with --wait a `job` for all that a
    /// job says and how it ends. What is wrong with the command
    /// line is text on standard error.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Who answers the question whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// You are asked at the terminal; without one the call is refused.
    Ask,
    /// The answer is yes.
    Yes,
    /// The answer is no.
    No,
}

pub(super) fn milliseconds(text: &str) -> Result<NonZeroU64, &'static str> {
    text.parse().map_err(|_| "milliseconds, at least 1")
}
