//! Progress of long work, on a terminal only.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `total` steps on standard error; nothing where that is no terminal. Not shown for work that is over at once.
pub(crate) fn bar(total: u64, what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() || total < 2 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Says on standard error that something goes on whose length is not known; nothing where that is no terminal.
pub(crate) fn spinner(what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
