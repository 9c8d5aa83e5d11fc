//! What is to be done.

use std::io::{self, Read as _};

use anyhow::{Context as _, anyhow, ensure};

use crate::exit::Failure;

/// How standard input is called on the command line.
const STANDARD_INPUT: &str = "-";
/// How long a task on standard input may be, in bytes: more than any model reads, and less than would keep a computer busy.
const MAX_INPUT: u64 = 16 << 20;

/// The task of these words, or that of standard input.
///
/// Source: the reference's headless runner, for the words.
pub(super) fn of(words: &[String]) -> Result<String, Failure> {
    let is_input = matches!(words, [word] if word == STANDARD_INPUT);
    let task = if is_input { standard_input().map_err(Failure::bad_input)? } else { words.join(" ") };
    if task.trim().is_empty() {
        let whose = if is_input { "standard input holds no task" } else { "the task is empty" };
        return Err(Failure::bad_input(anyhow!(
            "{whose}: say what is to be done, as in dsh \"list the files\""
        )));
    }
    Ok(task)
}

fn standard_input() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let input = io::stdin().lock();
    input.take(MAX_INPUT + 1).read_to_end(&mut bytes).context("cannot read the task from standard input")?;
    ensure!(
        bytes.len() as u64 <= MAX_INPUT,
        "the task on standard input is longer than {} MiB: put it into a file, and have the task say where that is",
        MAX_INPUT >> 20
    );
    let task = String::from_utf8(bytes).context("the task on standard input is no UTF-8 text")?;
    Ok(task.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::of;

    // spec: profile-cli/P46
    #[test]
    fn words_are_joined_and_blanks_alone_are_no_task() {
        let task = |words: &[&str]| of(&words.iter().map(ToString::to_string).collect::<Vec<_>>()).ok();
        assert_eq!(task(&["fix", " it", "-"]), Some("fix  it -".to_owned()));
        assert_eq!(task(&[" \t", "\n"]), None);
        assert_eq!(task(&[""]), None);
    }
}
