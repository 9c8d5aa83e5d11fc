//! The command line.

mod hooks;
mod run;
mod task;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub(crate) use hooks::{HooksArgs, HooksCheckArgs, HooksCommand, HooksRunArgs, WrittenFor};
pub(crate) use run::{Approval, DoctorArgs, RunArgs};
pub(crate) use tools::{Approve, ToolsArgs, ToolsCallArgs, ToolsCommand, ToolsLsArgs};

use crate::visible::visible;
use hooks::{HOOKS_EXAMPLES, HOOKS_EXIT_CODES};
use run::{DOCTOR_EXAMPLES, DOCTOR_EXIT_CODES, RUN_EXAMPLES, RUN_EXIT_CODES, RUN_SHOWN};
use task::Meant;
use tools::{TOOLS_EXAMPLES, TOOLS_EXIT_CODES};

const EXIT_CODES: &str = "\
Exit codes:
    0  everything was done (a replay that differs from its log is fine too)
    1  a run failed, was declined or was interrupted
    2  the input or the command line is wrong; nothing was run";

const INTERRUPTED: &str =
    "  130  Ctrl-C at the question of a replay, and nothing was run; Ctrl-C during a task";

const EXAMPLES: &str = "\
Examples:
  dsh \"What is in this folder?\"
  dsh run --help
  dsh doctor
  dsh replay examples/data/session.jsonl
  dsh replay --yes --diff examples/data/session.jsonl
  dsh replay --yes --deny bash --unload-after 3 examples/data/session.jsonl
  dsh session ls
  dsh session check ~/.dsh/sessions
  dsh tools ls
  dsh hooks check
  dsh plugins --json";

const REPLAY_EXAMPLES: &str = "\
Examples:
  dsh replay session.jsonl                            list the calls, ask, run them in an empty folder
  dsh replay --yes --workspace . session.jsonl        run them in a copy of this folder
  dsh replay --yes --deny bash session.jsonl          refuse every call of bash
  dsh replay --yes --deny bash --unload-after 3 FILE  refuse bash during the first three calls only
  dsh replay --yes --json session.jsonl               one JSON object per line: plan, call…, summary
  gunzip -c FILE | dsh replay --yes -                 the log comes by standard input

The list and the question are shown on the terminal also where standard output goes elsewhere.";

const PLUGINS_EXAMPLES: &str = "\
Examples:
  dsh plugins                     what there is, as a table
  dsh plugins --json              the same for programs, with schemas
  dsh plugins --schema tool-bash  what the configuration of one plugin may hold";

const SESSION_EXAMPLES: &str = "\
Examples:
  dsh session ls                              what is stored below $DSH_HOME/sessions, or ~/.dsh/sessions
  dsh session show ID                         what was said, with the numbers of events
  dsh session show --events --full ID         every event, nothing cut
  dsh session export ID > session.jsonl       the log as plain lines, for dsh replay
  dsh session check session.jsonl.zstd        what is wrong with a log, line by line
  dsh session --store DIR check               the same for all logs of a folder, and for where they are
  dsh session fork ID --at N                  a new session of the events 0 to N
  dsh session --store new.db import FILE      a session of that database from a log

The beginning of an ID is enough where no other session has it. Nothing here changes a session that is there: a fork is a
new one.";

const LS_EXAMPLES: &str = "\
Examples:
  dsh session ls                     what is stored below $DSH_HOME/sessions, or ~/.dsh/sessions
  dsh session --store FILE.db ls     what is in a database
  dsh session ls --json              the headers, for programs";

const SHOW_EXAMPLES: &str = "\
Examples:
  dsh session show ID                   what was said, with the numbers of events
  dsh session show --events --full ID   every event, nothing cut
  dsh session show --json ID            the header and the events, for programs";

const EXPORT_EXAMPLES: &str = "\
Examples:
  dsh session export ID > session.jsonl              for dsh replay
  dsh session export -o session.jsonl ID             a file for this user alone; never over one that is there
  dsh session export --unpacked ID | grep chunk      one event per line
  dsh session export --raw ID                        the stored text, whatever is wrong with it

What is damaged is an error, or, at the end of a log, left out with a warning; --raw looks at nothing.";

const CHECK_EXAMPLES: &str = "\
Examples:
  dsh session check                           the whole store: every log, and where it is
  dsh session check session.jsonl.zstd        one log, compressed or not
  dsh session check sessions.db               every session of a database
  curl URL | dsh session check -              a log from standard input";

const FORK_EXAMPLES: &str = "\
Examples:
  dsh session fork ID                 a new session of all events
  dsh session fork ID --at N          of the events 0 to N; where N is not possible, the error names numbers that are
  dsh session fork ID --as other      with an id of one's own";

const IMPORT_EXAMPLES: &str = "\
Examples:
  dsh session import session.jsonl                                 into $DSH_HOME/sessions, or ~/.dsh/sessions
  dsh session --store new.db import session.jsonl.zstd             into a database, which is made if it is missing
  dsh session --store a.db export ID | dsh session import - --as other   from a database to files";

const SESSION_EXIT_CODES: &str = "\
Exit codes:
    0  everything was done; every checked log is sound, or ends in an open turn
    1  something failed; a checked log is damaged, cut at its end, misplaced, of an unknown format or unreadable
    2  the command line is wrong, there is no such store, file or session, or it cannot be read
  130  Ctrl-C, as a shell tells it: the program ends at once; what it makes is there whole, or not at all

Whoever closes the pipe that is written to has read enough: that is no failure, and a check goes on to its exit code.";

const SAFETY: &str = "\
A log is a stranger's commands. They are listed first and run after a yes. They start in a temporary folder that is
removed at the end, never in the folder that the log names; but they run with your rights and are not confined, so
read the list. Ctrl-C ends the running command and the replay; a second one does not wait for them.";

const USAGE: &str = "dsh [OPTIONS] TASK...\n       dsh [OPTIONS] <COMMAND>";

/// Has an agent do a task: dsh "task". Everything else is a command.
#[derive(Debug, Parser)]
#[command(name = "dsh", version, override_usage = USAGE, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}\n{INTERRUPTED}"))]
pub(crate) struct Cli {
    /// When to use colours. By itself: on a terminal, unless the variable `NO_COLOR` is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The arguments of this process. If they are wrong, or ask for help, the process ends here.
    pub(crate) fn from_process() -> Self {
        let program = Self::command();
        let arguments = match task::meant(&program, std::env::args_os().collect()) {
            Meant::Arguments(arguments) => arguments,
            Meant::Command { given, near } => {
                let (given, text) = (visible(&given), "a task that begins like a command follows `--`");
                let text = format!(
                    "there is no command `{given}`: did you mean `{near}`?\n\n{text}: dsh -- \"{given} …\""
                );
                program.clone().error(ErrorKind::InvalidSubcommand, text).exit()
            }
        };
        // The help is printed before the arguments are known.
        let matches = program.color(wanted_color(arguments.iter().cloned())).get_matches_from(arguments);
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Have an agent do a task. `dsh "task"` is short for it.
    #[command(after_help = format!("{RUN_SHOWN}\n\n{RUN_EXAMPLES}\n\n{RUN_EXIT_CODES}"))]
    Run(RunArgs),
    /// Say what is set up for tasks, what is missing, and how to mend it.
    #[command(after_help = format!("{DOCTOR_EXAMPLES}\n\n{DOCTOR_EXIT_CODES}"))]
    Doctor(DoctorArgs),
    /// Run the tool calls of a session log again and compare the results.
    #[command(after_help = format!("{SAFETY}\n\n{REPLAY_EXAMPLES}\n\n{EXIT_CODES}\n{INTERRUPTED}"))]
    Replay(ReplayArgs),
    /// Look at stored sessions, check their logs, fork and import them.
    #[command(after_help = format!("{SESSION_EXAMPLES}\n\n{SESSION_EXIT_CODES}"))]
    Session(SessionArgs),
    /// List the tools of an agent, and call one.
    #[command(after_help = format!("{TOOLS_EXAMPLES}\n\n{TOOLS_EXIT_CODES}"))]
    Tools(ToolsArgs),
    /// Check the hooks of a settings file, and try them.
    #[command(after_help = format!("{HOOKS_EXAMPLES}\n\n{HOOKS_EXIT_CODES}"))]
    Hooks(HooksArgs),
    /// List the plugins that are compiled in.
    #[command(after_help = format!("{PLUGINS_EXAMPLES}\n\n{EXIT_CODES}"))]
    Plugins(PluginsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The log: JSON lines, not compressed. `-` is standard input; then nobody can be asked, and --yes is needed.
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
pub(crate) struct SessionArgs {
    /// Where the sessions are: a folder of logs, or a SQLite database. By itself `$DSH_HOME/sessions`, or
    /// `~/.dsh/sessions`.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List the stored sessions, newest first.
    #[command(after_help = format!("{LS_EXAMPLES}\n\n{SESSION_EXIT_CODES}"))]
    Ls(SessionLsArgs),
    /// Show what a session holds.
    #[command(after_help = format!("{SHOW_EXAMPLES}\n\n{SESSION_EXIT_CODES}"))]
    Show(SessionShowArgs),
    /// Write a session as one plain log.
    #[command(after_help = format!("{EXPORT_EXAMPLES}\n\n{SESSION_EXIT_CODES}"))]
    Export(SessionExportArgs),
    /// Say what is wrong with a log, line by line.
    #[command(after_help = format!("{CHECK_EXAMPLES}\n\n{SESSION_EXIT_CODES}"))]
    Check(SessionCheckArgs),
    /// Make a new session from the beginning of one.
    #[command(after_help = format!("{FORK_EXAMPLES}\n\n{SESSION_EXIT_CODES}"))]
    Fork(SessionForkArgs),
    /// Make a session of the store from a log.
    #[command(after_help = format!("{IMPORT_EXAMPLES}\n\n{SESSION_EXIT_CODES}"))]
    Import(SessionImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionLsArgs {
    /// Print the headers as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionShowArgs {
    /// The session: its id, or the beginning of it that no other has.
    pub(crate) id: String,
    /// Show every event, not only what was said.
    #[arg(long)]
    pub(crate) events: bool,
    /// Cut nothing.
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the header and the events as they are stored, one JSON object per line.
    #[arg(long, conflicts_with_all = ["events", "full"])]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionExportArgs {
    /// The session: its id, or the beginning of it that no other has.
    pub(crate) id: String,
    /// The file to make; standard output without it, or where it is `-`.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write one event per line, also streamed pieces.
    #[arg(long)]
    pub(crate) unpacked: bool,
    /// Write the stored text as it is, whatever is wrong with it. Not for databases, which store none.
    #[arg(long, conflicts_with = "unpacked")]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionCheckArgs {
    /// A log, compressed or not, a folder of them, or a database; `-` is standard input. The whole store without it.
    pub(crate) path: Option<PathBuf>,
    /// Print one JSON object per log and line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionForkArgs {
    /// The session: its id, or the beginning of it that no other has.
    pub(crate) id: String,
    /// The last event that the new one has; all of them without it. No turn may be open there.
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,
    /// The new session's id.
    #[arg(long = "as", value_name = "ID")]
    pub(crate) name: Option<String>,
    /// Print what was made as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionImportArgs {
    /// The log, compressed or not; `-` is standard input.
    pub(crate) file: PathBuf,
    /// The session's id, instead of the one that the log names.
    #[arg(long = "as", value_name = "ID")]
    pub(crate) name: Option<String>,
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

fn wanted_color(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut arguments = arguments.filter_map(|argument| argument.into_string().ok());
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--color") {
            Some("") => arguments.next(),
            Some(value) => value.strip_prefix('=').map(str::to_owned),
            None if argument == "--" => break,
            None => None,
        };
        if let Some(choice) = value.and_then(|value| ColorChoice::from_str(&value, false).ok()) {
            return choice;
        }
    }
    ColorChoice::Auto
}
