//! One log, folded into what it takes.
//!
//! **Invariants**
//! 1. `nodes` has an entry for each event of the conversation, in its order, and `surface_tokens` is their sum.
//! 2. An event that is refused changes nothing, so the next measurement meets it again.

use std::sync::Arc;

use dsh_llm::TokenUsage;
use dsh_session::{
    AssistantChunk, AssistantMessage, BadData, EpochHeader, Event, Events, Payload, Plan, RequestHeader,
    StepEnd, StepStart, Surface, SurfaceError,
};
use thiserror::Error;

use crate::answer::Answer;
use crate::estimate::{estimate_header, estimate_message};
use crate::measurement::{Baseline, Measurement, NodeTokens};

/// An event of a log cannot be measured. Those before it can; the log is not measured again until it is another one.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MeterError {
    /// A step starts while another one is open.
    #[error("event {seq} starts step {step} of turn {turn} while another step is open")]
    StepOpen {
        /// The event.
        seq: u64,
        /// The turn that it names.
        turn: u64,
        /// The step that it names.
        step: u64,
    },
    /// A step ends, or is answered in, that is not open.
    #[error("event {seq} (`{kind}`) names step {step} of turn {turn}, which is not the open one")]
    StepNotOpen {
        /// The event.
        seq: u64,
        /// Its type.
        kind: String,
        /// The turn that it names.
        turn: u64,
        /// The step that it names.
        step: u64,
    },
    /// An answer is made from something else than pieces of answers in its step.
    #[error("event {seq} was made from event {named}, which is no piece of an answer in the same step")]
    Source {
        /// The event.
        seq: u64,
        /// What it was made from.
        named: u64,
    },
    /// The event is not allowed where it stands.
    #[error("event {seq} is not allowed where it stands: {source}")]
    Surface {
        /// The event.
        seq: u64,
        /// Why.
        source: SurfaceError,
    },
    /// The data is not what the type says.
    #[error("event {seq} (`{kind}`) cannot be read: {reason}")]
    Readable {
        /// The event.
        seq: u64,
        /// Its type.
        kind: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// How far a log was read, and what it takes so far.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    surface: Surface,
    nodes: Arc<Vec<NodeTokens>>,
    surface_tokens: u64,
    /// The latest one, in canonical form.
    header: Option<Arc<EpochHeader>>,
    step: Option<OpenStep>,
    anchor: Option<Anchor>,
    taken: u64,
}

#[derive(Debug)]
struct OpenStep {
    turn: u64,
    step: u64,
    /// The event that started it.
    began: u64,
    /// What the conversation took when pieces came: from which event on, and how much.
    asked: Vec<(u64, u64)>,
}

/// The last answer.
#[derive(Debug)]
struct Anchor {
    /// What the conversation that it answers took, and the answer.
    surface_tokens: u64,
    header: Option<Arc<EpochHeader>>,
    usage: Option<TokenUsage>,
}

/// What an event that is no part of the conversation does beside that.
enum Change {
    Nothing,
    StepStarts(OpenStep),
    StepEnds,
    Header(Arc<EpochHeader>),
    Piece,
    Answers(Anchor),
}

impl Fold {
    /// Takes the events that it has not taken yet, up to the first that cannot be measured.
    pub(crate) fn catch_up(&mut self, events: &Events) -> Result<(), MeterError> {
        let from = usize::try_from(self.taken).unwrap_or(usize::MAX);
        events.from(from).try_for_each(|event| self.take(&event, events))
    }

    /// What is known now, for a request with this header.
    pub(crate) fn measurement(&self, header: Option<&EpochHeader>) -> Measurement {
        let given = header.map(|header| Arc::new(header.clone().canonical()));
        let header = given.or_else(|| self.header.clone());
        let around = header.as_deref().map_or(0, estimate_header);
        let now = around.saturating_add(self.surface_tokens);
        let (baseline, since) = match &self.anchor {
            None => (Baseline::None, 0),
            Some(anchor) if anchor.header != header => {
                (Baseline::Estimated { tokens: now }, self.surface_tokens)
            }
            Some(anchor) => {
                let estimated = around.saturating_add(anchor.surface_tokens);
                let usage = anchor.usage.filter(|_| header.is_some()).map(|usage| (counted(&usage), usage));
                let baseline = match usage {
                    Some((tokens, usage)) if tokens >= estimated => Baseline::Usage { tokens, usage },
                    Some(_) | None => Baseline::Estimated { tokens: estimated },
                };
                (baseline, anchor.surface_tokens)
            }
        };
        let surface_delta_tokens = signed(self.surface_tokens).saturating_sub(signed(since));
        let base = baseline.tokens().unwrap_or(around);
        Measurement {
            log_revision: self.taken,
            baseline,
            surface_delta_tokens,
            total_tokens: base.saturating_add_signed(surface_delta_tokens),
            surface_tokens: self.surface_tokens,
            nodes: self.nodes.clone(),
        }
    }

    fn take(&mut self, event: &Event, events: &Events) -> Result<(), MeterError> {
        let earlier = |seq: u64| events.get(usize::try_from(seq).ok()?);
        let plan = self.surface.plan(event, earlier);
        let plan = plan.map_err(|source| MeterError::Surface { seq: event.seq(), source })?;
        let change = self.change(event, events)?;
        self.surface.commit(event.seq(), plan);
        self.place(event, plan);
        match change {
            Change::Nothing => {}
            Change::StepStarts(step) => self.step = Some(step),
            Change::StepEnds => self.step = None,
            Change::Header(header) => self.header = Some(header),
            Change::Piece => self.piece(event.seq()),
            Change::Answers(anchor) => self.anchor = Some(anchor),
        }
        self.taken = event.seq() + 1;
        Ok(())
    }

    fn change(&self, event: &Event, events: &Events) -> Result<Change, MeterError> {
        match event.kind() {
            StepStart::TYPE => {
                let StepStart { turn, step } = data(event)?;
                if self.step.is_some() {
                    return Err(MeterError::StepOpen { seq: event.seq(), turn, step });
                }
                let asked = Vec::new();
                Ok(Change::StepStarts(OpenStep { turn, step, began: event.seq(), asked }))
            }
            StepEnd::TYPE => {
                let StepEnd { turn, step } = data(event)?;
                self.open(event, turn, step).map(|_| Change::StepEnds)
            }
            RequestHeader::TYPE => {
                Ok(Change::Header(Arc::new(data::<RequestHeader>(event)?.header.canonical())))
            }
            AssistantChunk::TYPE => Ok(Change::Piece),
            AssistantMessage::TYPE if event.is_surface_append() => self.answers(event, events),
            _ => Ok(Change::Nothing),
        }
    }

    fn answers(&self, event: &Event, events: &Events) -> Result<Change, MeterError> {
        let AssistantMessage { turn, step, usage, .. } = data(event)?;
        let open = self.open(event, turn, step)?;
        let output = match event.sources() {
            None => price(event),
            Some(sources) => open.output(event, sources, events)?,
        };
        let first = event.sources().and_then(|sources| sources.iter().min());
        let asked = first.and_then(|first| open.asked_before(*first)).unwrap_or(self.surface_tokens);
        let surface_tokens = asked.saturating_add(output);
        Ok(Change::Answers(Anchor { surface_tokens, header: self.header.clone(), usage }))
    }

    fn open(&self, event: &Event, turn: u64, step: u64) -> Result<&OpenStep, MeterError> {
        let open = self.step.as_ref().filter(|open| (open.turn, open.step) == (turn, step));
        let kind = || event.kind().to_owned();
        open.ok_or_else(|| MeterError::StepNotOpen { seq: event.seq(), kind: kind(), turn, step })
    }

    /// Pieces are many: they are read when they are made an answer, if ever.
    fn piece(&mut self, seq: u64) {
        let Some(open) = &mut self.step else { return };
        if open.asked.last().is_none_or(|(_, tokens)| *tokens != self.surface_tokens) {
            open.asked.push((seq, self.surface_tokens));
        }
    }

    fn place(&mut self, event: &Event, plan: Plan) {
        let node = || NodeTokens { seq: event.seq(), tokens: price(event) };
        match plan {
            Plan::None => return,
            Plan::Append => {
                let node = node();
                self.surface_tokens = self.surface_tokens.saturating_add(node.tokens);
                Arc::make_mut(&mut self.nodes).push(node);
                return;
            }
            Plan::Replace { first, last } => {
                Arc::make_mut(&mut self.nodes).splice(first..=last, [node()]);
            }
        }
        self.surface_tokens = self.nodes.iter().fold(0, |sum, node| sum.saturating_add(node.tokens));
    }
}

impl OpenStep {
    /// What an answer takes by the pieces that it was made from.
    fn output(&self, event: &Event, sources: &[u64], events: &Events) -> Result<u64, MeterError> {
        let mut answer = Answer::default();
        for named in sources {
            let piece = usize::try_from(*named).ok().and_then(|seq| events.get(seq));
            let chunk = piece
                .filter(|piece| (self.began..event.seq()).contains(&piece.seq()))
                .and_then(|piece| piece.payload::<AssistantChunk>().ok().flatten())
                .filter(|chunk| (chunk.turn, chunk.step) == (self.turn, self.step));
            let chunk = chunk.ok_or(MeterError::Source { seq: event.seq(), named: *named })?;
            answer.take(&chunk.chunk);
        }
        Ok(answer.tokens())
    }

    /// What the conversation took that a piece answers.
    fn asked_before(&self, seq: u64) -> Option<u64> {
        let before = self.asked.iter().rev().find(|(from, _)| *from <= seq);
        before.map(|(_, tokens)| *tokens)
    }
}

/// What an event of the conversation takes. An answer without content is not shown to the model.
pub(crate) fn price(event: &Event) -> u64 {
    let message = event.message();
    let shown = message.filter(|it| event.kind() != AssistantMessage::TYPE || !it.content.is_empty());
    shown.map_or(0, |message| estimate_message(message))
}

fn counted(usage: &TokenUsage) -> u64 {
    usage.billed_input().saturating_add(usage.output_tokens)
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

fn data<P: Payload>(event: &Event) -> Result<P, MeterError> {
    let reason = match event.payload() {
        Ok(Some(data)) => return Ok(data),
        Ok(None) => format!("it is no `{}`", P::TYPE),
        Err(BadData { reason, .. }) => reason,
    };
    Err(MeterError::Readable { seq: event.seq(), kind: event.kind().to_owned(), reason })
}
