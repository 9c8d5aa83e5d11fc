//! The unit `tokenUsage`: what providers counted.

use dsh_llm::{StreamChunk, TokenUsage};
use dsh_session::{AssistantChunk, AssistantMessage, Event, Payload};
use dsh_session_projection::Unit;
use serde::{Deserialize, Serialize};

/// Adds up what providers counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageUnit;

/// What providers counted, in all. The four are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotals {
    /// Tokens that were read anew.
    pub input_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
    /// Tokens that came from a cache.
    pub cache_read_tokens: u64,
    /// Tokens that went to a cache.
    pub cache_write_tokens: u64,
}

/// The sums, and the count of the last step, which a later one of the same step takes the place of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageState {
    before: UsageTotals,
    last: Option<Sample>,
}

/// What a provider counted in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample {
    turn: u64,
    step: u64,
    pub(crate) usage: TokenUsage,
}

impl UsageState {
    /// The sums.
    #[must_use]
    pub fn totals(&self) -> UsageTotals {
        self.last.map_or(self.before, |last| self.before.and(&last.usage))
    }
}

impl UsageTotals {
    fn and(self, usage: &TokenUsage) -> Self {
        let cached = |tokens: Option<u64>| tokens.unwrap_or(0);
        Self {
            input_tokens: self.input_tokens.saturating_add(usage.input_tokens),
            output_tokens: self.output_tokens.saturating_add(usage.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(cached(usage.cache_read_tokens)),
            cache_write_tokens: self.cache_write_tokens.saturating_add(cached(usage.cache_write_tokens)),
        }
    }
}

impl Unit for UsageUnit {
    const KEY: &'static str = "tokenUsage";
    const STATE_VERSION: u32 = 0;
    type State = UsageState;
    type View = UsageTotals;

    fn init(&self) -> UsageState {
        UsageState::default()
    }

    fn apply(&self, state: &UsageState, event: &Event) -> Option<UsageState> {
        let sample = Sample::of(event)?;
        let is_same = state.last.is_some_and(|last| (last.turn, last.step) == (sample.turn, sample.step));
        let before = if is_same { state.before } else { state.totals() };
        Some(UsageState { before, last: Some(sample) })
    }

    fn view(&self, state: &UsageState) -> Option<UsageTotals> {
        Some(state.totals())
    }
}

impl Sample {
    /// What an event says that a provider counted. Pieces are many, so those without a count are not read whole.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        match event.kind() {
            AssistantChunk::TYPE if event.data().get().contains(r#""usage""#) => {
                let AssistantChunk { turn, step, chunk } = event.payload().ok().flatten()?;
                match chunk {
                    StreamChunk::Usage { usage } => Some(Self { turn, step, usage }),
                    _ => None,
                }
            }
            AssistantMessage::TYPE if event.is_surface_append() => {
                let AssistantMessage { turn, step, usage, .. } = event.payload().ok().flatten()?;
                Some(Self { turn, step, usage: usage? })
            }
            _ => None,
        }
    }
}
