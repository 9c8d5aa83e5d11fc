//! The unit `sessionStats`: how many turns and steps there were, and where the time went.

use std::collections::BTreeMap;

use dsh_session::{AssistantChunk, AssistantMessage, Event, StepEnd, StepStart, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

use crate::unit::Unit;

/// Counts turns and steps, and measures models and tools by the times of events.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatsUnit;

/// How many turns and steps there were, and where the time went. Clocks that went back count as standing still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The turns in which a step has ended.
    pub turns: u64,
    /// The steps that have ended.
    pub steps: u64,
    /// From the starts of steps to the answers in them.
    pub llm_ms: u64,
    /// From calls to their results; calls side by side count each.
    pub tool_ms: u64,
    /// From the starts of steps to the first piece of an answer.
    pub ttft_ms: u64,
    /// The steps in which a piece of an answer came.
    pub ttft_steps: u64,
    /// From first pieces to the answers whose tokens were counted.
    pub decode_ms: u64,
    /// The tokens of these answers.
    pub decode_tokens: u64,
}

/// The figures so far, and what is still going on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsState {
    stats: Stats,
    /// The last turn that was counted.
    counted_turn: Option<u64>,
    step: Option<OpenStep>,
    /// When calls without a result were made, by their ids.
    calls: BTreeMap<String, i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenStep {
    started_ms: i64,
    /// When the first piece came. Stays when the model is asked again within the step.
    first_piece_ms: Option<i64>,
    answered: bool,
}

impl StatsState {
    /// The figures so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }
}

impl Unit for StatsUnit {
    const KEY: &'static str = "sessionStats";
    const STATE_VERSION: u32 = 0;
    type State = StatsState;
    type View = Stats;

    fn init(&self) -> StatsState {
        StatsState::default()
    }

    fn apply(&self, state: &StatsState, event: &Event) -> Option<StatsState> {
        match event.kind() {
            "step/start" => read::<StepStart>(event).map(|_| state.step_started(event.time_ms())),
            "assistant/chunk" => state.piece(event),
            "assistant/message" if event.is_surface_append() => {
                state.answered(&read(event)?, event.time_ms())
            }
            "tool/call" => read(event).map(|call| state.called(call, event.time_ms())),
            "tool/result" if event.is_surface_append() => state.returned(&read(event)?, event.time_ms()),
            "step/end" => read(event).map(|end| state.step_ended(&end)),
            "turn/end" => Some(state.turn_ended()),
            _ => None,
        }
    }

    fn view(&self, state: &StatsState) -> Option<Stats> {
        Some(state.stats)
    }
}

impl StatsState {
    fn step_started(&self, at: i64) -> Self {
        let step = OpenStep { started_ms: at, first_piece_ms: None, answered: false };
        Self { step: Some(step), ..self.clone() }
    }

    /// Pieces are many and only the first counts, so the others are not even read.
    fn piece(&self, event: &Event) -> Option<Self> {
        let step = self.step.filter(|step| step.first_piece_ms.is_none() && !step.answered)?;
        let chunk: AssistantChunk = read(event)?;
        if !chunk.chunk.is_token_delta() {
            return None;
        }
        let mut new = self.clone();
        new.step = Some(OpenStep { first_piece_ms: Some(event.time_ms()), ..step });
        add(&mut new.stats.ttft_ms, gap(step.started_ms, event.time_ms()));
        new.stats.ttft_steps += 1;
        Some(new)
    }

    fn answered(&self, answer: &AssistantMessage, at: i64) -> Option<Self> {
        let step = self.step.filter(|step| !step.answered)?;
        let mut new = self.clone();
        new.step = Some(OpenStep { answered: true, ..step });
        add(&mut new.stats.llm_ms, gap(step.started_ms, at));
        if let (Some(first), Some(usage)) = (step.first_piece_ms, answer.usage) {
            add(&mut new.stats.decode_ms, gap(first, at));
            add(&mut new.stats.decode_tokens, usage.output_tokens);
        }
        Some(new)
    }

    fn called(&self, call: ToolCall, at: i64) -> Self {
        let mut new = self.clone();
        new.calls.insert(call.call_id, at);
        new
    }

    fn returned(&self, result: &ToolResult, at: i64) -> Option<Self> {
        let called = *self.calls.get(result.call_id())?;
        let mut new = self.clone();
        new.calls.remove(result.call_id());
        add(&mut new.stats.tool_ms, gap(called, at));
        Some(new)
    }

    fn step_ended(&self, end: &StepEnd) -> Self {
        let mut new = Self { step: None, ..self.clone() };
        new.stats.steps += 1;
        if new.counted_turn.replace(end.turn) != Some(end.turn) {
            new.stats.turns += 1;
        }
        new
    }

    /// What was not answered by then never will be.
    fn turn_ended(&self) -> Self {
        Self { step: None, calls: BTreeMap::new(), ..self.clone() }
    }
}

/// Data that is not what its type says is nobody's figure.
fn read<P: dsh_session::Payload>(event: &Event) -> Option<P> {
    event.payload().ok().flatten()
}

fn gap(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

/// A log can hold any figure; a sum of them stays at the largest number.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}
