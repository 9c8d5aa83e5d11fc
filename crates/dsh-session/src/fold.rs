//! What a session keeps of its log: the conversation, and what the next request is made with. Each event is looked at once.

use std::sync::Arc;

use dsh_llm::Message;

use crate::error::SurfaceError;
use crate::event::Event;
use crate::events::Events;
use crate::list::List;
use crate::payload::{EpochHeader, RequestContext, RequestHeader};
use crate::surface::{Plan, Surface};

#[derive(Clone, Debug, Default)]
pub(crate) struct Fold {
    surface: Surface,
    messages: List<Arc<Message>>,
    header: Option<Arc<EpochHeader>>,
    context: Option<Arc<RequestContext>>,
}

impl Fold {
    pub(crate) fn surface(&self) -> &Surface {
        &self.surface
    }

    pub(crate) fn messages(&self) -> List<Arc<Message>> {
        self.messages.clone()
    }

    pub(crate) fn header(&self) -> Option<Arc<EpochHeader>> {
        self.header.clone()
    }

    pub(crate) fn context(&self) -> Option<Arc<RequestContext>> {
        self.context.clone()
    }

    /// Passes over events that nothing is kept of.
    pub(crate) fn pass(&mut self, count: u64) {
        self.surface.pass(count);
    }

    /// Takes the next event; `earlier` holds those before it.
    pub(crate) fn commit(&mut self, event: &Event, plan: Plan, earlier: &Events) {
        self.surface.commit(event.seq(), plan);
        match plan {
            Plan::None => self.note(event),
            Plan::Append => {
                if let Some(message) = projected(event) {
                    self.messages.push(message.clone());
                }
            }
            Plan::Replace { .. } => self.rebuild(event, earlier),
        }
    }

    /// A replacement may stand anywhere, so the list of messages is made anew; the messages are the same ones.
    fn rebuild(&mut self, newest: &Event, earlier: &Events) {
        let nodes = self.surface.nodes().iter();
        let event = |seq: &u64| match usize::try_from(*seq).ok().and_then(|seq| earlier.get(seq)) {
            Some(event) => projected(&event).cloned(),
            None => projected(newest).cloned(),
        };
        self.messages = nodes.filter_map(event).collect();
    }

    fn note(&mut self, event: &Event) {
        match event.kind() {
            "request/header" => {
                if let Ok(Some(RequestHeader { header, .. })) = event.payload() {
                    self.header = Some(Arc::new(header.canonical()));
                }
            }
            "request/context" => {
                if let Ok(Some(context)) = event.payload() {
                    self.context = Some(Arc::new(context));
                }
            }
            _ => {}
        }
    }
}

/// What the model sees of an event: its message, unless it is an answer without content.
pub(crate) fn projected(event: &Event) -> Option<&Arc<Message>> {
    event.message().filter(|message| event.kind() != "assistant/message" || !message.content.is_empty())
}

/// The conversation of a list of events, made from nothing: what a session keeps as it goes.
///
/// # Errors
/// An event is not allowed where it stands.
pub fn derive_messages(events: &Events) -> Result<Vec<Arc<Message>>, SurfaceError> {
    let (surface, _) = Surface::fold(events)?;
    let base = events.first().map_or(0, |event| event.seq());
    let event = |seq: &u64| events.get(usize::try_from(seq - base).ok()?);
    Ok(surface.nodes().iter().filter_map(event).filter_map(|event| projected(&event).cloned()).collect())
}
