//! Which model one agent asks.

use parking_lot::Mutex;

use crate::selection::Selection;

/// Which model one agent asks: the one that is selected now, and the one that its last prompt was made for, which is the one that
/// requests go to. Shared by those who select and the agent's listeners; see
/// [`install_model_selection`](crate::install_model_selection).
#[derive(Debug)]
pub struct SelectionRef {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    current: Selection,
    assembled: Option<Selection>,
}

impl SelectionRef {
    /// With this model selected, and no prompt made yet.
    #[must_use]
    pub fn new(current: Selection) -> Self {
        Self { state: Mutex::new(State { current, assembled: None }) }
    }

    /// What is selected now.
    #[must_use]
    pub fn current(&self) -> Selection {
        self.state.lock().current.clone()
    }

    /// What the last prompt was made for; none before the first.
    #[must_use]
    pub fn assembled(&self) -> Option<Selection> {
        self.state.lock().assembled.clone()
    }

    /// Selects another model, from the next prompt on. A step whose prompt is made, or being made, is not changed any more.
    pub fn select(&self, selection: Selection) {
        self.state.lock().current = selection;
    }

    /// A prompt was made for this model.
    pub(crate) fn note(&self, assembled: Selection) {
        self.state.lock().assembled = Some(assembled);
    }
}
