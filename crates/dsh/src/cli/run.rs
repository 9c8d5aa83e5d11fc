//! The command lines of `dsh run`, which is also `dsh "task"`, and of `dsh doctor`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const RUN_SHOWN: &str = "\
Standard output gets the last text of the model and nothing else. What goes on is shown on standard error if that is a
terminal. The session is kept in $DSH_HOME/sessions, or ~/.dsh/sessions; `dsh session show ID` prints it.

The model is asked with the key in DEEPSEEK_API_KEY, at DEEPSEEK_BASE_URL if that is set. Without a key a model from a script
answers, the same whatever the task is, with real tools. `dsh doctor` says what is set up.

The tools work with your rights and are not confined: a model can do what you can. --approve always has you asked first.

With --json each line is an object, told apart by `type`: the `session`; an `event` for each that is added to the session's
log, with what is in the log as `event` (the pieces of answers are those of type `assistant/chunk`); and last the `result`:
`exitCode`, `reason` and, if something failed, `error`, then `text`, `steps`, `toolCalls`, `usage` and `durationMs`.";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  dsh \"What is in this folder?\"                          the shortest way to say it
  dsh run --workspace ~/src/app \"Fix the failing test\"   in another folder
  dsh run --resume last \"Now do the same for the docs\"   go on with this folder's last session
  git diff | dsh run -                                   the task comes by standard input
  dsh run --json \"Count the files\" | jq .type            for programs
  dsh -- replay                                          a task that is called like a command";

pub(super) const RUN_EXIT_CODES: &str = "\
Exit codes:
    0  the model was done; or the run was told to end (SIGTERM), and its log is closed
    1  something failed, or the run was kept from going on; standard error says why (that an answer was cut
       off at the limit of tokens, on a terminal only)
    2  the command line, or what it names, is wrong; nothing was run
  130  Ctrl-C; the log is closed. A second signal does not wait for that (129 if the terminal was closed)";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  dsh doctor             what is set up, what is missing, and how to mend it
  dsh doctor --online    also asks the model for one word, which costs next to nothing
  dsh doctor --json      one JSON object per line, for programs";

pub(super) const DOCTOR_EXIT_CODES: &str = "\
Exit codes:
    0  a task would run
    1  it would not; the lines that say `fail` say what to do";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What is to be done, in any number of words; `-` is standard input.
    #[arg(required = true, value_name = "TASK")]
    pub(crate) task: Vec<String>,
    /// Go on with a stored session: its id, the beginning of it that no other has, or `last` for the one of this folder that
    /// was written to last. It works in its own folder.
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// The model. `deepseek-official` and `scripted` are the providers; anything else before a `/` is part of the model's name.
    #[arg(long, value_name = "[PROVIDER/]MODEL")]
    pub(crate) model: Option<String>,
    /// The folder to work in. By itself the one that you are in.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// End the run after this many steps, at least 1. A step is one answer of the model and the tools that it calls.
    #[arg(long, value_name = "N", value_parser = at_least_1)]
    pub(crate) max_steps: Option<NonZeroU64>,
    /// Which calls of tools you are asked about.
    #[arg(long, value_name = "WHICH", default_value = "ask")]
    pub(crate) approve: Approval,
    /// Run the hooks of this settings file. They are those of Claude Code, or of Codex if the file is in a folder `.codex`.
    #[arg(long, value_name = "PATH")]
    pub(crate) hooks: Option<PathBuf>,
    /// Print one JSON object per line instead of the last text.
    #[arg(long)]
    pub(crate) json: bool,
}

fn at_least_1(text: &str) -> Result<NonZeroU64, &'static str> {
    text.parse().map_err(|_| "give a whole number, at least 1")
}

/// Which calls of tools a user is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approval {
    /// Those for which a hook or a policy wants it, at the terminal; without a terminal such a call is refused.
    Ask,
    /// None: a call for which a hook or a policy wants it is refused. All others run.
    Never,
    /// All but those that only look (read, job_output, job_list), at the terminal; without a terminal they are refused.
    Always,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Ask the model for one word, to see whether it answers.
    #[arg(long)]
    pub(crate) online: bool,
    /// The settings file with hooks that `dsh run --hooks` would be given.
    #[arg(long, value_name = "PATH")]
    pub(crate) hooks: Option<PathBuf>,
    /// Print one JSON object per line: each `check`, and last the `summary`.
    #[arg(long)]
    pub(crate) json: bool,
}
