//! What listeners decide about a call.

use dsh_llm::{ContentBlock, Message};
use serde_json::{Map, Value};

/// The answer to [`PRE_EXECUTE`](crate::PRE_EXECUTE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreDecision {
    /// The call may go on; guards are asked next.
    Allow,
    /// The call is refused.
    Deny {
        /// The reason, which the model reads. An empty one denies all the same.
        reason: String,
    },
    /// Somebody is asked; see `dsh-approval`. Without an agent or without an approval service the call is refused.
    Ask {
        /// Why, for whoever is asked.
        reason: Option<String>,
    },
    /// The call is to be made with other arguments, and is judged from the beginning with them: listeners are asked again,
    /// and everybody from then on sees these arguments and no others. Arguments that are equal to those that the call has
    /// fail it, since nobody behind the listener would ever be asked: who has nothing to change calls `next`. A listener
    /// that decided on more than the arguments finds the call's [`RunContext`](crate::RunContext) as it left it.
    ///
    /// Whether the call runs beside others of its batch was decided by the model's arguments.
    Replace {
        /// The arguments, which are read as strictly as a model's.
        arguments: Map<String, Value>,
    },
}

/// The answer to [`POST_EXECUTE`](crate::POST_EXECUTE).
#[derive(Clone, Debug, PartialEq)]
pub enum PostDecision {
    /// The outcome stands, as success or as failure.
    Accept {
        /// What takes the place of a part of it.
        replace: Option<Replacement>,
        /// Messages that join the conversation after those of the outcome.
        contexts: Vec<Message>,
    },
    /// The result is kept from the model, with the messages that came with it.
    Block {
        /// What the model reads instead, as an error.
        feedback: Vec<ContentBlock>,
        /// Messages that join the conversation.
        contexts: Vec<Message>,
    },
}

/// What takes the place of a part of an outcome: of its content or of its value, never of both.
#[derive(Clone, Debug, PartialEq)]
pub enum Replacement {
    /// What the model reads; the value stays, and a failure stays a failure.
    Content(Vec<ContentBlock>),
    /// The value of a success; the tool checks and renders it again.
    Value(Value),
}

impl PostDecision {
    /// The outcome stands as it is.
    #[must_use]
    pub fn accept() -> Self {
        Self::Accept { replace: None, contexts: Vec::new() }
    }

    /// The outcome stands with another text.
    #[must_use]
    pub fn replace_text(text: impl Into<String>) -> Self {
        let content = vec![ContentBlock::text(text)];
        Self::Accept { replace: Some(Replacement::Content(content)), contexts: Vec::new() }
    }

    /// The outcome, a success, stands with another value.
    #[must_use]
    pub fn replace_value(value: impl Into<Value>) -> Self {
        Self::Accept { replace: Some(Replacement::Value(value.into())), contexts: Vec::new() }
    }

    /// The result is kept from the model, which reads this instead.
    #[must_use]
    pub fn block(feedback: impl Into<String>) -> Self {
        Self::Block { feedback: vec![ContentBlock::text(feedback)], contexts: Vec::new() }
    }

    /// The messages that this decision has join the conversation.
    pub fn contexts_mut(&mut self) -> &mut Vec<Message> {
        match self {
            Self::Accept { contexts, .. } | Self::Block { contexts, .. } => contexts,
        }
    }

    /// The same decision with one more message for the conversation, behind the others.
    #[must_use]
    pub fn with_context(mut self, message: Message) -> Self {
        self.contexts_mut().push(message);
        self
    }
}
