//! The command line of `dsh hooks`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use dsh_agent::SessionSource;
use dsh_hooks::{Dialect, Point};

use super::tools::milliseconds;
use crate::nearest::nearest;

pub(super) const HOOKS_EXAMPLES: &str = "\
Examples:
  dsh hooks check                                      what the settings that are here would do
  dsh hooks check examples/hooks/settings.json         the same for one file
  dsh hooks run PreToolUse --tool bash --show-payload  what hooks would read
  dsh hooks run UserPromptSubmit --prompt hello        the hooks run, and what would come of it is shown";

const CHECK_EXAMPLES: &str = "\
Examples:
  dsh hooks check                                    every settings file of Claude Code that is here
  dsh hooks check .claude/settings.json              one file
  dsh hooks check --tool mcp__github__search         as if there were a tool of this name
  dsh hooks check --dialect codex .codex/hooks.json  hooks that were written for Codex
  dsh hooks check --strict                           fails for warnings too
  dsh hooks check --json                             one JSON object per line";

const CHECK_SHOWN: &str = "\
Nothing is run. Without a file, those are looked at that are there of .claude/settings.json, .claude/settings.local.json
and ~/.claude/settings.json; for Codex of .codex/hooks.json and ~/.codex/hooks.json. An error is what keeps a hook, or the
whole file, from being what it was meant to be; a warning is what means something elsewhere and nothing here, such as a
pattern with the capitals of another agent's tools, or what may fail; a hint is a pattern that matches nothing, or what is
not for hooks. The numbers of hooks are those that `dsh hooks run` shows.";

const RUN_EXAMPLES: &str = "\
Examples:
  dsh hooks run PreToolUse --tool bash --input '{\"command\": \"rm -rf /\"}'        may the call be made?
  dsh hooks run PreToolUse --tool bash --input - < arguments.json                 its arguments come by standard input
  dsh hooks run PostToolUse --tool read --response 'the text of the file'         what is added to a result
  dsh hooks run UserPromptSubmit --prompt 'delete everything'                     may the message reach the model?
  dsh hooks run SessionStart --source resume --settings examples/hooks/settings.json
                                                                                  what a session begins with
  dsh hooks run Stop --json                                                       one JSON object per line
  dsh hooks run PreToolUse --tool bash --show-payload                             what each hook would read; none runs";

const RUN_SAFETY: &str = "\
The hooks that are for this really run, with your rights and not confined, in the folder that you are in or that
--workspace names, as they would for an agent. No tool is called: the arguments are not even compared with what the tool
takes. Nothing is stored. Ctrl-C ends the hooks; a second one does not wait for them.";

pub(super) const HOOKS_EXIT_CODES: &str = "\
Exit codes:
    0  check: no errors, with --strict no warnings either; run: things would go on
    1  run: the hooks deny it, want it asked about or hold it up; something failed or was interrupted
    2  check: there are errors, with --strict or warnings; the command line is wrong, or there are no settings; nothing was run";

#[derive(Debug, Args)]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    pub(crate) command: HooksCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// Say what is wrong with hooks, and which of them would run for which tool.
    #[command(after_help = format!("{CHECK_SHOWN}\n\n{CHECK_EXAMPLES}\n\n{HOOKS_EXIT_CODES}"))]
    Check(HooksCheckArgs),
    /// Run hooks as if something happened, and show what they answer and what would come of it.
    #[command(after_help = format!("{RUN_SAFETY}\n\n{RUN_EXAMPLES}\n\n{HOOKS_EXIT_CODES}"))]
    Run(HooksRunArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HooksCheckArgs {
    /// The settings. Without any, all that are there.
    pub(crate) path: Vec<PathBuf>,
    /// A tool that there is not here; may be given more than once.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Vec<String>,
    /// Count warnings as errors for the exit code.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) written_for: WrittenFor,
    /// Print one JSON object per line, told apart by `type`: for each `file` its `problem`s, then each `hook`, each `tool`,
    /// and last the `summary`.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HooksRunArgs {
    /// What happens: SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop, SubagentStart or SubagentStop.
    #[arg(value_parser = point)]
    pub(crate) point: Point,
    /// The tool that is called; for PreToolUse and PostToolUse. It need not be there.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Its arguments, a JSON object; `-` is standard input. Without them `{}`.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// What the tool has answered; for PostToolUse.
    #[arg(long, value_name = "TEXT")]
    pub(crate) response: Option<String>,
    /// What the user says; for UserPromptSubmit.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// How the session begins; for SessionStart. By itself `startup`.
    #[arg(long, value_name = "HOW")]
    pub(crate) source: Option<Beginning>,
    /// The settings; may be given more than once. Without them, all that are there.
    #[arg(long, value_name = "PATH")]
    pub(crate) settings: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) written_for: WrittenFor,
    /// End a hook when it runs longer than this many milliseconds, at least 1, unless it has a timeout of its own.
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) timeout: Option<NonZeroU64>,
    /// Print what each hook would read, and run none.
    #[arg(long)]
    pub(crate) show_payload: bool,
    /// Print one JSON object per line, told apart by `type`: the `firing`, each `hook` when it has ended, or its `payload`,
    /// and last the `outcome`. What is wrong with the command line is text on standard error.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whom the hooks were written for, and where.
#[derive(Debug, Args)]
pub(crate) struct WrittenFor {
    /// The agent that the hooks were written for.
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    pub(crate) dialect: DialectName,
    /// The folder that the agent works in. By itself the one that you are in.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// What stands for `${CLAUDE_PLUGIN_ROOT}` in commands.
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_root: Option<String>,
}

/// An agent that hooks are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// How a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Beginning {
    /// It is a new one.
    Startup,
    /// It goes on where it was left.
    Resume,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::ClaudeCode => Self::ClaudeCode,
            DialectName::Codex => Self::Codex,
        }
    }
}

impl From<Beginning> for SessionSource {
    fn from(beginning: Beginning) -> Self {
        match beginning {
            Beginning::Startup => Self::Startup,
            Beginning::Resume => Self::Resume,
        }
    }
}

fn point(text: &str) -> Result<Point, String> {
    Point::named(text).ok_or_else(|| {
        let all = Point::ALL.map(Point::as_str);
        let meant = nearest(text, all).map_or_else(String::new, |point| format!("did you mean {point}? "));
        format!("no hooks run for that: {meant}there are {}", all.join(", "))
    })
}
