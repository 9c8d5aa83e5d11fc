//! How a program answers.

use std::fmt;
use std::sync::Arc;

use crate::error::AnswerError;
use crate::question::{Decision, Question, QuestionId};
use crate::questions::Questions;
use crate::state::Shared;

/// The questions that wait for programs.
pub struct ApprovalChannel {
    shared: Arc<Shared>,
}

impl ApprovalChannel {
    pub(crate) fn new() -> Self {
        Self { shared: Arc::default() }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Attaches a program: it is given the questions that are open, then all that come, until it drops what it was given.
    /// Several programs are each given all of them.
    #[must_use = "the program is attached until this is dropped"]
    pub fn attach(&self) -> Questions {
        Questions::new(self.shared.clone())
    }

    /// The questions that are open, in the order in which they were asked.
    #[must_use]
    pub fn pending(&self) -> Vec<Question> {
        self.shared.pending()
    }

    /// Answers a question. The first answer counts, unless the question is cancelled before its asker has heard it.
    ///
    /// # Errors
    /// The question is over, or there is none of this id; see [`AnswerError`].
    pub fn answer(&self, id: &QuestionId, decision: Decision) -> Result<(), AnswerError> {
        self.shared.answer(id, decision)
    }

    /// Waits until a question is not open any more, such as to take it off a screen. Answers at once for one that is not
    /// known.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn until_over(&self, id: &QuestionId) {
        self.shared.until_over(id).await;
    }

    /// Leaves everything that is open to others, and takes nothing more.
    pub(crate) fn close(&self) {
        self.shared.close();
    }
}

impl fmt::Debug for ApprovalChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalChannel").field("pending", &self.pending()).finish_non_exhaustive()
    }
}
