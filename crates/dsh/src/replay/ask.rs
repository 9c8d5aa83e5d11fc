//! The question before anything is run.

use std::io::{self, IsTerminal, Write};

use tokio::signal::unix::Signal;
use tokio::sync::oneshot;

/// What the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// Ctrl-C.
    Interrupted,
}

/// Whether there is somebody to ask.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on the terminal, and takes anything but a yes for a no.
pub(crate) async fn ask(calls: usize, interrupts: &mut Signal) -> io::Result<Answer> {
    let calls = if calls == 1 { "this call".to_owned() } else { format!("these {calls} calls") };
    write!(io::stderr(), "Run {calls} with your rights, not confined? [y/N] ")?;
    let (sender, line) = oneshot::channel();
    // No task of the runtime: nothing can end it, and the runtime would wait for it.
    std::thread::Builder::new().name("answer".to_owned()).spawn(move || {
        let mut line = String::new();
        // After Ctrl-C nobody wants to know.
        let _ = sender.send(io::stdin().read_line(&mut line).map(|_| line));
    })?;
    let answer = tokio::select! {
        biased;
        _ = interrupts.recv() => None,
        line = line => Some(line.map_err(io::Error::other)??),
    };
    // The user has not ended the line.
    if answer.as_ref().is_none_or(|line| !line.ends_with('\n')) {
        writeln!(io::stderr())?;
    }
    Ok(match answer.map(|line| line.trim().to_ascii_lowercase()).as_deref() {
        None => Answer::Interrupted,
        Some("y" | "yes") => Answer::Yes,
        Some(_) => Answer::No,
    })
}
