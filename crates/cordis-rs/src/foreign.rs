//! Running a plugin's code: inside of its frame and its span, with its panic contained.

use crate::{
    contain::contained,
    fiber::FiberCell,
    frames::{self, Frame},
    span,
};

/// Whose code it is.
pub(crate) struct Foreign {
    frame: Frame,
    span: Option<tracing::Span>,
}

impl Foreign {
    /// Code of the plugin's `effect`; for a body, of the effect that mounted the plugin.
    pub(crate) fn of(cell: &FiberCell, effect: u64) -> Self {
        let span = span::wanted().then(|| span::of(cell));
        Foreign { frame: Frame { effect, fiber: cell.id }, span }
    }

    /// The effect that the code belongs to.
    pub(crate) fn effect(&self) -> u64 {
        self.frame.effect
    }

    /// Runs one call or one poll of it; gives the text of its panic if it has one.
    pub(crate) fn run<T>(&self, code: impl FnOnce() -> T) -> Result<T, String> {
        let result = contained(|| {
            let inside = frames::enter(self.frame);
            let result = match &self.span {
                None => code(),
                Some(span) => span.in_scope(code),
            };
            inside.leave();
            result
        });
        if result.is_err() {
            frames::take_panicked();
        }
        result
    }
}
