//! Standard output, written by a thread of its own.

use std::io::{self, Write as _};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// What is put here is written, one after another. Nobody waits for a slow reader but [`end`](Self::end).
pub(super) struct Out {
    texts: Mutex<Option<Sender<String>>>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    failed: CancellationToken,
    failure: OnceLock<io::Error>,
    ended: CancellationToken,
}

impl Out {
    pub(super) fn start() -> Self {
        let (texts, written) = mpsc::channel::<String>();
        let state = Arc::new(State::default());
        let thread = Arc::clone(&state);
        // Without a thread nothing can be written, which is found out at the end.
        let started = std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            let write = |text: String| {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            };
            if let Err(error) = written.into_iter().try_for_each(write) {
                thread.fail(error);
            }
            thread.ended.cancel();
        });
        if let Err(error) = started {
            state.fail(error);
            state.ended.cancel();
        }
        Self { texts: Mutex::new(Some(texts)), state }
    }

    pub(super) fn put(&self, text: String) {
        // Nobody takes it once writing has failed, which is told then.
        let _ = self.texts.lock().as_ref().map(|texts| texts.send(text));
    }

    /// Waits until something could not be written.
    pub(super) async fn failed(&self) {
        self.state.failed.cancelled().await;
    }

    /// Why something could not be written.
    pub(super) fn failure(&self) -> Option<&io::Error> {
        self.state.failure.get()
    }

    /// Waits until all is written that was put here. What is put here later is not.
    pub(super) async fn end(&self) {
        self.texts.lock().take();
        self.state.ended.cancelled().await;
    }
}

impl State {
    fn fail(&self, error: io::Error) {
        let _ = self.failure.set(error);
        self.failed.cancel();
    }
}
