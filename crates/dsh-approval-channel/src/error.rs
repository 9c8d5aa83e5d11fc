//! Why an answer does not count.

use thiserror::Error;

use crate::question::QuestionId;

/// Why an answer does not count. The question is what it was before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AnswerError {
    /// Somebody else answered first.
    #[error("question `{id}` is already resolved: the first answer counts")]
    AlreadyResolved {
        /// The question.
        id: QuestionId,
    },
    /// The question was cancelled, or left to other answerers because nobody was attached any more.
    #[error("question `{id}` is stale: it was cancelled or is asked elsewhere, and takes no answer here")]
    Stale {
        /// The question.
        id: QuestionId,
    },
    /// No such question is known: there never was one, or it ended so long ago that it was forgotten.
    #[error("there is no question `{id}`: the pending ones are listed by `pending()`")]
    Unknown {
        /// The question.
        id: QuestionId,
    },
}
