//! `dsh "task"`: a command line that names no command is a task.

use std::ffi::{OsStr, OsString};

use clap::Command;

use crate::nearest::nearest;

/// What a command line is meant to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// As it is, or as it is after `run` was put in.
    Arguments(Vec<OsString>),
    /// A command that is written wrong, and the one that it may be.
    Command { given: String, near: String },
}

/// Finds out. The first argument that is not an option of the program itself tells.
///
/// A word that is nearly a command is taken for one: a task that was not meant costs more than a question.
pub(super) fn meant(program: &Command, arguments: Vec<OsString>) -> Meant {
    let Some(at) = first_own(&arguments) else { return Meant::Arguments(arguments) };
    let as_task = |mut arguments: Vec<OsString>| {
        arguments.insert(at, OsString::from("run"));
        Meant::Arguments(arguments)
    };
    let Some(first) = arguments[at].to_str() else { return as_task(arguments) };
    if first == "-" || first == "--" {
        return as_task(arguments);
    }
    if let Some(option) = first.strip_prefix("--") {
        let name = option.split('=').next().unwrap_or_default();
        return if is_option_of_run(program, name) {
            as_task(arguments)
        } else {
            Meant::Arguments(arguments)
        };
    }
    if first.starts_with('-') {
        return Meant::Arguments(arguments);
    }
    let commands: Vec<&str> = program.get_subcommands().map(Command::get_name).chain(["help"]).collect();
    if commands.contains(&first) {
        return Meant::Arguments(arguments);
    }
    match nearest(first, commands) {
        Some(near) => Meant::Command { given: first.to_owned(), near: near.to_owned() },
        None => as_task(arguments),
    }
}

/// The place of the first argument that is neither the program's name nor `--color` with its value.
fn first_own(arguments: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(argument) = arguments.get(at) {
        match argument.to_str() {
            Some("--color") => at += 2,
            Some(text) if text.starts_with("--color=") => at += 1,
            _ => return Some(at),
        }
    }
    None
}

fn is_option_of_run(program: &Command, name: &str) -> bool {
    let run = program.get_subcommands().find(|command| command.get_name() == OsStr::new("run"));
    run.is_some_and(|run| run.get_arguments().any(|argument| argument.get_long() == Some(name)))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{Meant, meant};
    use crate::cli::Cli;

    fn of(line: &[&str]) -> Meant {
        let arguments = ["dsh"].iter().chain(line).map(Into::into).collect();
        meant(&Cli::command(), arguments)
    }

    fn arguments(line: &[&str]) -> Meant {
        Meant::Arguments(["dsh"].iter().chain(line).map(Into::into).collect())
    }

    #[test]
    fn what_names_no_command_is_a_task() {
        for (line, meant) in [
            (&["fix the tests"][..], &["run", "fix the tests"][..]),
            (&["fix", "it", "--json"], &["run", "fix", "it", "--json"]),
            (&["--color", "never", "fix it"], &["--color", "never", "run", "fix it"]),
            (&["--color=never", "-"], &["--color=never", "run", "-"]),
            (&["--", "replay"], &["run", "--", "replay"]),
            (&["--model=m", "fix it"], &["run", "--model=m", "fix it"]),
            (&["--json", "fix it"], &["run", "--json", "fix it"]),
            (&["replay all of it"], &["run", "replay all of it"]),
            (&[""], &["run", ""]),
            (&["漢字"], &["run", "漢字"]),
        ] {
            assert_eq!(of(line), arguments(meant), "{line:?}");
        }
    }

    #[test]
    fn a_command_stays_one() {
        for line in [
            &["replay", "x"][..],
            &["run", "x"],
            &["help"],
            &["--help"],
            &["-V"],
            &["--nonsense", "x"],
            &["--color", "always"],
            &[],
        ] {
            assert_eq!(of(line), arguments(line), "{line:?}");
        }
    }

    #[test]
    fn a_word_that_is_nearly_a_command_is_asked_about() {
        for (given, near) in
            [("rpelay", "replay"), ("tool", "tools"), ("Session", "session"), ("docter", "doctor")]
        {
            let expected = Meant::Command { given: given.to_owned(), near: near.to_owned() };
            assert_eq!(of(&[given, "ls"]), expected);
        }
    }
}
