//! Counts what the coordinator warns of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<AtomicUsize>);

impl Warnings {
    /// Those of this thread, on which all tasks of a runtime with one thread run.
    pub(crate) fn of_this_thread() -> (Self, DefaultGuard) {
        let warnings = Self::default();
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(warnings.clone()));
        (warnings, guard)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() == tracing::Level::WARN && metadata.target().starts_with("dsh_session") {
            self.0.fetch_add(1, SeqCst);
        }
    }
}
