//! The surface: which events make up the conversation that the model sees, in order.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

use crate::error::SurfaceError;
use crate::event::Event;
use crate::events::Events;
use crate::json::same_json;
use crate::seed::without_lone_surrogates;

/// What an event does to the conversation that the model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceOp {
    /// Adds a message at the end.
    Append,
    /// Puts a message in the place of others.
    Replace {
        /// The first event that is replaced.
        start: u64,
        /// The last event that is replaced; by place in the conversation, not by number.
        end: u64,
    },
}

impl Serialize for SurfaceOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Append => serializer.serialize_str("append"),
            Self::Replace { start, end } => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("op", "replace")?;
                map.serialize_entry("start", start)?;
                map.serialize_entry("end", end)?;
                map.end()
            }
        }
    }
}

/// A replacement that a log made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    /// The event that stands there now.
    pub seq: u64,
    /// The first event that it took the place of.
    pub start: u64,
    /// The last one.
    pub end: u64,
    /// All of them, in the order of the conversation.
    pub shadowed_seqs: Vec<u64>,
}

/// Folds the events of a log, one after the other, into the conversation.
///
/// A rejected event changes nothing: [`plan`](Surface::plan) looks, [`commit`](Surface::commit) does.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    nodes: Vec<u64>,
    next: u64,
    replacements: u64,
}

/// What a planned event will do, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    None,
    /// A message at the end.
    Append,
    /// A message in the place of those from `first` to `last`.
    Replace {
        /// The place of the first.
        first: usize,
        /// The place of the last.
        last: usize,
    },
}

impl Surface {
    /// A fold that begins at `base`: what was before is not there and cannot be replaced.
    #[must_use]
    pub fn window(base: u64) -> Self {
        Self { nodes: Vec::new(), next: base, replacements: 0 }
    }

    /// The events of the conversation, in its order.
    #[must_use]
    pub fn nodes(&self) -> &[u64] {
        &self.nodes
    }

    /// How many replacements there were; who keeps something of the conversation starts over when it changes.
    #[must_use]
    pub fn replace_generation(&self) -> u64 {
        self.replacements
    }

    /// What an event would do. `earlier` finds an event by its number.
    ///
    /// # Errors
    /// The event is not the next one, or its mark or its sources are not allowed there.
    pub fn plan(
        &self,
        event: &Event,
        earlier: impl Fn(u64) -> Option<Arc<Event>>,
    ) -> Result<Plan, SurfaceError> {
        if event.seq != self.next {
            return Err(SurfaceError::NotNext { expected: self.next, found: event.seq });
        }
        let kind = || event.kind().to_owned();
        if !is_surface_type(event.kind()) {
            return match (event.surface, &event.sources) {
                (Some(_), _) => Err(SurfaceError::MarkNotAllowed { kind: kind() }),
                (None, Some(_)) => Err(SurfaceError::SourcesNotAllowed { kind: kind() }),
                (None, None) => Ok(Plan::None),
            };
        }
        let op = event.surface.ok_or_else(|| SurfaceError::NoMark { kind: kind() })?;
        check_sources(event)?;
        match op {
            SurfaceOp::Append => Ok(Plan::Append),
            SurfaceOp::Replace { start, end } => self.plan_replace(event, start, end, earlier),
        }
    }

    fn plan_replace(
        &self,
        event: &Event,
        start: u64,
        end: u64,
        earlier: impl Fn(u64) -> Option<Arc<Event>>,
    ) -> Result<Plan, SurfaceError> {
        let place = |seq: u64| self.nodes.iter().position(|node| *node == seq);
        let first = place(start).ok_or(SurfaceError::StartNotFound { start })?;
        let last = place(end).ok_or(SurfaceError::EndNotFound { end })?;
        if first > last {
            return Err(SurfaceError::Reversed { start, end });
        }
        let shadowed = &self.nodes[first..=last];
        let sources = event.sources().unwrap_or_default();
        let missing: Vec<u64> = match shadowed.len() {
            0..=16 => shadowed.iter().filter(|seq| !sources.contains(seq)).copied().collect(),
            _ => {
                let sources: std::collections::HashSet<&u64> = sources.iter().collect();
                shadowed.iter().filter(|seq| !sources.contains(seq)).copied().collect()
            }
        };
        if !missing.is_empty() {
            return Err(SurfaceError::SourcesMissing { missing });
        }
        if event.kind() == "tool/result" {
            let only = match shadowed {
                [seq] => earlier(*seq).filter(|shadowed| shadowed.kind() == "tool/result"),
                _ => None,
            };
            let shadowed = only.ok_or(SurfaceError::ResultReplacesOther)?;
            if !same_but_for_content(&shadowed, event) {
                return Err(SurfaceError::ResultChanges { seq: shadowed.seq });
            }
        }
        Ok(Plan::Replace { first, last })
    }

    /// Does what was planned for the next event.
    pub fn commit(&mut self, seq: u64, plan: Plan) {
        self.next = seq + 1;
        match plan {
            Plan::None => {}
            Plan::Append => self.nodes.push(seq),
            Plan::Replace { first, last } => {
                self.nodes.splice(first..=last, [seq]);
                self.replacements += 1;
            }
        }
    }

    /// Passes over events that are not part of the conversation.
    pub(crate) fn pass(&mut self, count: u64) {
        self.next += count;
    }

    /// Folds a whole log and tells of every replacement.
    ///
    /// # Errors
    /// The first event that is not allowed where it stands.
    pub fn fold(events: &Events) -> Result<(Self, Vec<Replacement>), SurfaceError> {
        let base = events.first().map_or(0, |event| event.seq);
        let mut surface = Self::window(base);
        let mut replacements = Vec::new();
        for event in events {
            let earlier = |seq: u64| events.get(usize::try_from(seq.checked_sub(base)?).ok()?);
            let plan = surface.plan(&event, earlier)?;
            if let (Plan::Replace { first, last }, Some(SurfaceOp::Replace { start, end })) =
                (plan, event.surface)
            {
                let shadowed_seqs = surface.nodes[first..=last].to_vec();
                replacements.push(Replacement { seq: event.seq, start, end, shadowed_seqs });
            }
            surface.commit(event.seq, plan);
        }
        Ok((surface, replacements))
    }
}

/// Whether events of this type are part of the conversation, and so carry a mark.
#[must_use]
pub fn is_surface_type(kind: &str) -> bool {
    matches!(kind, "user/message" | "assistant/message" | "tool/result")
}

impl Event {
    /// Whether it is part of the conversation: of such a type, and marked.
    #[must_use]
    pub fn is_surface(&self) -> bool {
        self.surface.is_some() && is_surface_type(self.kind())
    }

    /// Whether it added a message at the end.
    #[must_use]
    pub fn is_surface_append(&self) -> bool {
        self.is_surface() && self.surface == Some(SurfaceOp::Append)
    }

    /// Whether it took the place of others.
    #[must_use]
    pub fn is_surface_replacement(&self) -> bool {
        self.is_surface() && matches!(self.surface, Some(SurfaceOp::Replace { .. }))
    }
}

fn check_sources(event: &Event) -> Result<(), SurfaceError> {
    let Some(sources) = event.sources() else { return Ok(()) };
    if sources.is_empty() && event.kind() != "assistant/message" {
        return Err(SurfaceError::SourcesEmpty { kind: event.kind().to_owned() });
    }
    if let Some(source) = sources.iter().find(|source| **source >= event.seq) {
        return Err(SurfaceError::SourceNotEarlier { named: *source, seq: event.seq });
    }
    let mut sorted = sources.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(SurfaceError::SourceTwice { named: pair[0] }),
        None => Ok(()),
    }
}

/// Whether two tool results differ in nothing but what their blocks hold, numbers compared as numbers.
fn same_but_for_content(shadowed: &Event, event: &Event) -> bool {
    let parts = |event: &Event| {
        let text = without_lone_surrogates(event.data.get());
        let mut data: serde_json::Value = serde_json::from_str(&text).ok()?;
        let block = data.get_mut("message")?.get_mut("content")?.get_mut(0)?;
        *block.get_mut("content")? = serde_json::Value::Null;
        Some(data)
    };
    match (parts(shadowed), parts(event)) {
        (Some(one), Some(two)) => same_json(&one, &two),
        _ => false,
    }
}

/// The mark of an event as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplaceObject {
    pub(crate) op: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
}
