//! What came of a run, by what its session's log says.

use std::num::NonZeroU64;

use dsh_llm::TokenUsage;
use dsh_session::{
    AssistantMessage, Event, Events, Payload as _, StepStart, ToolCall, TurnEnd, TurnEndReason, TurnStart,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::Exit;

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The text of the last answer that has one; empty if none has.
    pub(crate) text: String,
    /// Why the last turn ended; none if none did.
    pub(crate) reason: Option<TurnEndReason>,
    pub(crate) steps: usize,
    pub(crate) tool_calls: usize,
    pub(crate) usage: Tokens,
    /// Why the log could not be stored.
    unstored: Option<String>,
}

/// The tokens of all answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tokens {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
}

impl Outcome {
    /// Of what was logged from event `first` on.
    ///
    /// Source: the reference's headless runner.
    pub(crate) fn of(events: &Events, first: u64) -> Self {
        let mut outcome = Self::default();
        let mut has_begun = false;
        for event in events.iter().filter(|event| event.seq() >= first) {
            has_begun |= event.kind() == TurnStart::TYPE;
            if has_begun {
                outcome.note(&event);
            }
        }
        outcome
    }

    fn note(&mut self, event: &Event) {
        match event.kind() {
            StepStart::TYPE => self.steps += 1,
            ToolCall::TYPE => self.tool_calls += 1,
            TurnEnd::TYPE => {
                self.reason = event.payload::<TurnEnd>().ok().flatten().map(|end| end.reason);
            }
            AssistantMessage::TYPE => {
                if let Some(text) =
                    event.message().map(|message| message.text()).filter(|text| !text.is_empty())
                {
                    self.text = text;
                }
                let answer = event.payload::<AssistantMessage>().ok().flatten();
                if let Some(usage) = answer.and_then(|answer| answer.usage) {
                    self.usage.add(&usage);
                }
            }
            _ => {}
        }
    }

    /// The log could not be stored.
    pub(crate) fn unstored(&mut self, why: String) {
        self.unstored = Some(why);
    }

    pub(crate) fn exit(&self) -> Exit {
        match self.reason {
            Some(TurnEndReason::Completed {}) if self.unstored.is_none() => Exit::Fine,
            _ => Exit::Failed,
        }
    }

    /// What failed: a code and what is said of it.
    fn parts(&self) -> Option<(&str, &str)> {
        match (&self.unstored, &self.reason) {
            (Some(why), _) => Some(("UNSTORED", why)),
            (None, Some(TurnEndReason::Error { error })) => Some((&error.code, &error.message)),
            (None, None) => Some(("NO_TURN", "no turn was ended: the log of the session says more")),
            (None, Some(_)) => None,
        }
    }

    /// What is said of a failure, as the reference says it.
    pub(crate) fn failure(&self) -> Option<String> {
        self.parts().map(|(code, message)| format!("{code}: {message}"))
    }

    pub(crate) fn error(&self) -> Option<Value> {
        self.parts().map(|(code, message)| json!({ "code": code, "message": message }))
    }

    /// What is said of an end that is neither the task's nor a failure: on a terminal of each, elsewhere of those only that the
    /// user has set up.
    pub(crate) fn hint(&self, max_steps: Option<NonZeroU64>, is_for_people: bool) -> Option<String> {
        let is_last = |most: &NonZeroU64| u64::try_from(self.steps).is_ok_and(|steps| steps >= most.get());
        let hint = match (self.reason.as_ref()?, max_steps.filter(is_last)) {
            (reason, _) if !is_for_people && *reason != (TurnEndReason::Blocked {}) => return None,
            (TurnEndReason::MaxTokens {}, _) => "the answer was cut off: it reached the limit of tokens",
            (TurnEndReason::Blocked {}, Some(most)) => {
                return Some(format!("the task was not done within --max-steps {most}"));
            }
            (TurnEndReason::Blocked {}, None) => "a hook or a policy kept the agent from going on",
            (TurnEndReason::Aborted { .. } | TurnEndReason::Interrupted {}, _) => "the agent was cancelled",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl Tokens {
    fn add(&mut self, usage: &TokenUsage) {
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(usage.cache_read_tokens.unwrap_or(0));
    }
}
