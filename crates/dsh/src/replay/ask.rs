//! The question before anything is run.

use std::io::{self, BufRead, IsTerminal, Write};

/// What the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// There is nobody to ask.
    Nobody,
}

/// Asks on the terminal, and takes anything but a yes for a no.
pub(crate) fn ask(calls: usize) -> io::Result<Answer> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(Answer::Nobody);
    }
    let calls = if calls == 1 { "this call".to_owned() } else { format!("these {calls} calls") };
    write!(io::stderr(), "Run {calls} with your rights, not confined? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    // The user has ended the input, not the line.
    if !answer.ends_with('\n') {
        writeln!(io::stderr())?;
    }
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(Answer::Yes),
        _ => Ok(Answer::No),
    }
}
