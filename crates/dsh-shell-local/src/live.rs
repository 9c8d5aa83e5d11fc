//! Telling what a command prints while it runs.

use std::sync::Arc;

use dsh_shell::LiveOutput;
use dsh_subprocess::{Decoder, Watch};
use parking_lot::Mutex;

/// Tells a listener what the two streams print, as they come. Nothing is told any more once this is dropped.
pub(crate) struct Telling {
    streams: [Arc<Teller>; 2],
}

struct Teller {
    live: Arc<LiveOutput>,
    /// None once nothing is told any more.
    decoder: Mutex<Option<Decoder>>,
}

impl Telling {
    pub(crate) fn new(live: LiveOutput) -> Self {
        let live = Arc::new(live);
        let teller =
            || Arc::new(Teller { live: live.clone(), decoder: Mutex::new(Some(Decoder::default())) });
        Self { streams: [teller(), teller()] }
    }

    /// What is to be told of each piece of the streams.
    pub(crate) fn watches(&self) -> [Watch; 2] {
        self.streams.each_ref().map(|teller| {
            let teller = teller.clone();
            Box::new(move |bytes: &[u8]| teller.tell(bytes)) as Watch
        })
    }

    /// Tells what still waited for the rest of a character.
    pub(crate) fn finish(self) {
        for teller in &self.streams {
            let rest = teller.decoder.lock().take().map(Decoder::finish);
            teller.pass_on(rest);
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        for teller in &self.streams {
            teller.decoder.lock().take();
        }
    }
}

impl Teller {
    fn tell(&self, bytes: &[u8]) {
        let text = self.decoder.lock().as_mut().map(|decoder| decoder.push(bytes));
        self.pass_on(text);
    }

    fn pass_on(&self, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            (self.live)(text);
        }
    }
}
