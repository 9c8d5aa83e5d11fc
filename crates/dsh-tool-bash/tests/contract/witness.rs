//! Whether what a command started is still there, told without looking at a clock.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver};

/// For a command: answers each line of the pipe `ask` at the pipe `alive`, which is at its end once all that hold it ended.
/// It holds both ends of `ask`, which would else be at its end between two lines.
pub(crate) const ANSWERS: &str = "exec 8<>ask 9>alive; while read -r _ <&8; do printf x >&9; done";

/// Longer than anything takes that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The other end of both pipes.
pub(crate) struct Witness {
    ask: PathBuf,
    answers: UnboundedReceiver<()>,
}

impl Witness {
    pub(crate) fn new(folder: &Path) -> Self {
        let (ask, alive) = (folder.join("ask"), folder.join("alive"));
        assert!(Command::new("mkfifo").args([&ask, &alive]).status().unwrap().success());
        let (sender, answers) = mpsc::unbounded_channel();
        thread::spawn(move || {
            let mut alive = File::open(alive).unwrap();
            while let Ok(1) = alive.read(&mut [0]) {
                let _ = sender.send(());
            }
        });
        Self { ask, answers }
    }

    /// Waits until what was started answers, also for its start. False if it has ended.
    pub(crate) async fn is_answered(&mut self) -> bool {
        let ask = self.ask.clone();
        thread::spawn(move || std::fs::write(ask, "\n"));
        bounded(self.answers.recv()).await.is_some()
    }

    /// Waits until all that was started has ended.
    pub(crate) async fn is_alone(&mut self) {
        assert_eq!(bounded(self.answers.recv()).await, None);
    }
}

/// Ends a test that waits for what never comes.
pub(crate) async fn bounded<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("it never comes")
}

/// Stops a paused clock, which else goes forward whenever all wait: it does not while a blocking task runs. It goes on once
/// this is dropped, and after two minutes.
pub(crate) fn stop_clock() -> std::sync::mpsc::Sender<()> {
    let (clock, stopped) = std::sync::mpsc::channel();
    tokio::task::spawn_blocking(move || {
        let _ = stopped.recv_timeout(PATIENCE);
    });
    clock
}
