//! What the log says of retries before, in the step that is open.

use dsh_agent::RequestError;
use dsh_session::{Events, Payload, StepEnd, StepStart, TurnEnd, TurnStart};

use crate::record::LlmRetry;

/// The retries of the open step under one policy, so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// How many there were.
    pub(crate) retries: u32,
    /// What they have in common.
    pub(crate) retry_id: Option<String>,
}

impl History {
    /// Those before this failure. None if the step that failed is not the one that is open: then it is nobody's any more.
    ///
    /// The log is read from its end, no further than to the last retry, which has their number.
    pub(crate) fn before(error: &RequestError, events: &Events, policy_key: &str) -> Option<Self> {
        for event in events.iter().rev() {
            match event.kind() {
                LlmRetry::TYPE => {
                    let Ok(Some(last)) = event.payload::<LlmRetry>() else { continue };
                    let is_here = (last.turn, last.step) == (error.turn, error.step);
                    if is_here && last.provider == error.provider && last.policy_key == policy_key {
                        return Some(Self { retries: last.retry, retry_id: Some(last.retry_id) });
                    }
                }
                StepStart::TYPE => {
                    let start = event.payload::<StepStart>().ok().flatten()?;
                    let is_here = (start.turn, start.step) == (error.turn, error.step);
                    return is_here.then(Self::default);
                }
                StepEnd::TYPE | TurnStart::TYPE | TurnEnd::TYPE => return None,
                _ => {}
            }
        }
        None
    }
}
