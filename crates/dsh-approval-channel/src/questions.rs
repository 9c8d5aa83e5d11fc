//! How a program is told of questions.

use std::fmt;
use std::sync::Arc;

use crate::error::AnswerError;
use crate::question::{Decision, Question, QuestionId};
use crate::state::Shared;

/// A program's place at the channel: while there is one, questions wait for it.
///
/// When the last one is dropped, the questions that are open are left to other answerers.
pub struct Questions {
    shared: Arc<Shared>,
    /// The number of the last question that was given.
    given: u64,
}

impl Questions {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        shared.attach();
        Self { shared, given: 0 }
    }

    /// The next question that is open and was not given here yet, as soon as there is one; none once the plugin has
    /// unloaded. One that ends before it is asked for here is passed over.
    ///
    /// # Cancel safety
    /// Dropping the future loses no question.
    pub async fn next(&mut self) -> Option<Question> {
        let (number, question) = self.shared.after(self.given).await?;
        self.given = number;
        Some(question)
    }

    /// Answers a question, also while the plugin is unloading; see [`ApprovalChannel::answer`](crate::ApprovalChannel::answer).
    ///
    /// # Errors
    /// See [`AnswerError`].
    pub fn answer(&self, id: &QuestionId, decision: Decision) -> Result<(), AnswerError> {
        self.shared.answer(id, decision)
    }
}

impl Drop for Questions {
    fn drop(&mut self) {
        self.shared.detach();
    }
}

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Questions").field("given", &self.given).finish_non_exhaustive()
    }
}
