//! Standard error, which what goes on and what has to be said share.

use std::fmt::Display;
use std::io::{self, Write};

use indicatif::ProgressBar;
use parking_lot::Mutex;

/// The line that shows what goes on, if one does.
static LIVE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Standard error for those who do not know of the live line: what they write stands above it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aside;

/// Says a line that is no output, as [`say`](crate::exit::say) does.
pub(crate) fn aside(line: impl Display) {
    around(|| crate::exit::say(line));
}

/// Has what is written to standard error stand above this line, until it is taken away.
pub(super) fn set_live(bar: Option<ProgressBar>) {
    *LIVE.lock() = bar;
}

fn around<R>(write: impl FnOnce() -> R) -> R {
    let live = LIVE.lock().clone();
    match live {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        around(|| io::stderr().write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
