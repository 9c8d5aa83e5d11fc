//! The thread that reads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use dsh_approval::ApprovalOutcome;
use tokio::sync::oneshot;

use crate::input::Input;
use crate::lines::Lines;
use crate::screen::Screen;
use crate::terminal::Terminal;
use crate::text::{self, Prompt};

/// One question for the thread.
pub(crate) struct Job {
    pub(crate) prompt: Prompt,
    /// Set before the question is shown.
    pub(crate) shown: Arc<AtomicBool>,
    /// Told the answer; none if there is nobody to give one. Closed when the question is over.
    pub(crate) answer: oneshot::Sender<Option<ApprovalOutcome>>,
    /// Held until no line is waited for: whoever opens this terminal meanwhile is given the same one.
    pub(crate) terminal: Arc<Terminal>,
}

/// The thread ends when what this gives is dropped.
pub(crate) fn start(input: Box<dyn Input>, screen: Screen) -> io::Result<Sender<Job>> {
    let (sender, jobs) = mpsc::channel();
    thread::Builder::new()
        .name("approval-keyboard".to_owned())
        .spawn(move || work(Lines::new(input), &screen, &jobs))?;
    Ok(sender)
}

fn work(mut lines: Lines, screen: &Screen, jobs: &Receiver<Job>) {
    for Job { prompt, shown, answer, terminal } in jobs {
        if answer.is_closed() {
            continue;
        }
        shown.store(true, SeqCst);
        let given = ask(&mut lines, screen, prompt, &answer).unwrap_or_else(|error| {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the terminal for approvals cannot be read: others are asked");
            None
        });
        drop(terminal);
        // One that is over needs no answer.
        let _ = answer.send(given);
    }
}

/// Shows a question and reads until a line answers it, or it is over.
fn ask(
    lines: &mut Lines,
    screen: &Screen,
    mut prompt: Prompt,
    over: &oneshot::Sender<Option<ApprovalOutcome>>,
) -> io::Result<Option<ApprovalOutcome>> {
    loop {
        if !screen.show(&prompt.text) {
            return Ok(None);
        }
        // What was typed before somebody could read the text does not answer it, and the text may have been held up.
        lines.discard()?;
        // Shown after that, so whoever waits for the mark types nothing that is thrown away.
        if !over.is_closed() && !screen.show(prompt.mark) {
            return Ok(None);
        }
        let Some(line) = lines.next()? else { return Ok(None) };
        if over.is_closed() {
            if !line.trim().is_empty() {
                screen.note(text::UNUSED);
            }
            return Ok(None);
        }
        if let Some(answer) = text::answer(&line) {
            return Ok(Some(answer));
        }
        prompt = text::again();
    }
}
