//! The thread that writes.

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// Where texts are shown, in order, by a thread of its own: a terminal that is held up holds up nobody else.
#[derive(Clone)]
pub(crate) struct Screen(Sender<Shown>);

struct Shown {
    text: String,
    /// Told whether the text was written.
    written: Option<Sender<bool>>,
}

impl Screen {
    /// The thread ends with the last clone of what this gives.
    pub(crate) fn start(output: Box<dyn Write + Send>) -> io::Result<Self> {
        let (sender, texts) = mpsc::channel();
        thread::Builder::new().name("approval-screen".to_owned()).spawn(move || write(output, &texts))?;
        Ok(Self(sender))
    }

    /// Shows a text some time.
    pub(crate) fn note(&self, text: &str) {
        // Without the thread there is nobody to read it either.
        let _ = self.0.send(Shown { text: text.to_owned(), written: None });
    }

    /// Shows a text and waits until it is written. Blocks the thread.
    pub(crate) fn show(&self, text: &str) -> bool {
        let (sender, written) = mpsc::channel();
        let shown = Shown { text: text.to_owned(), written: Some(sender) };
        self.0.send(shown).is_ok() && written.recv().unwrap_or(false)
    }
}

fn write(mut output: Box<dyn Write + Send>, texts: &Receiver<Shown>) {
    for Shown { text, written } in texts {
        let result = output.write_all(text.as_bytes()).and_then(|()| output.flush());
        if let Err(error) = &result {
            let error = error as &dyn std::error::Error;
            tracing::warn!(error, "the terminal for approvals cannot be written");
        }
        if let Some(written) = written {
            let _ = written.send(result.is_ok());
        }
    }
}
