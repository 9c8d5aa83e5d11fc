//! The service: the model for agents that are not told otherwise.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::Config;
use crate::selection::Selection;

/// Which model agents ask unless they are told otherwise; provided as [`DEFAULT_MODEL`](crate::DEFAULT_MODEL).
///
/// It says what new agents begin with. Those that have begun have a [`SelectionRef`](crate::SelectionRef) of their own.
#[derive(Debug)]
pub struct DefaultModel {
    configured: Selection,
    saved: Arc<Saved>,
}

/// What somebody saved.
#[derive(Debug, Default)]
pub(crate) struct Saved(Mutex<Option<Selection>>);

impl DefaultModel {
    /// The configured model, until another one is saved.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self::keeping(config, Arc::default())
    }

    pub(crate) fn keeping(config: &Config, saved: Arc<Saved>) -> Self {
        Self { configured: Selection::new(config.provider.as_str(), config.model.as_str()), saved }
    }

    /// What was saved last, or else what is configured.
    #[must_use]
    pub fn current_selection(&self) -> Selection {
        self.saved.0.lock().clone().unwrap_or_else(|| self.configured.clone())
    }

    /// Makes a model the default. It takes the place of all that was saved before, so without an effort none is left. Whether
    /// anybody serves the model is not looked at.
    pub fn save_selection(&self, selection: Selection) {
        *self.saved.0.lock() = Some(selection);
    }
}
