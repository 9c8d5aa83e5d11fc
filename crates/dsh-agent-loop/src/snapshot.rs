//! The runtime context in the conversation: a message that is said anew when the context is another one than was said last.

use std::sync::Arc;

use dsh_llm::{ContentBlock, Message, PluginForm, Role, Section, Source};
use dsh_prompt::join_contexts;
use dsh_session::{Event, Session};

/// Whose messages snapshots are.
const PLUGIN: &str = "@deepseek-ai/dsh-system-prompt";
/// What is said when there is no runtime context any more.
const GONE: &str = "No runtime context applies any more. Disregard every earlier snapshot of it.";

/// What was said last of the runtime context.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// Whether something was ever said.
    said: bool,
    /// The message that the model still sees.
    seen: Option<Seen>,
    /// How often a part of the conversation had been replaced when this was looked at.
    generation: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Seen {
    seq: u64,
    /// None for a message that is no snapshot of ours.
    text: Option<String>,
}

impl Snapshot {
    /// What was said last by a log.
    pub(crate) fn of(session: &Session) -> Self {
        let (events, surface) = (session.events(), session.surface());
        let at = |seq: &u64| events.get(usize::try_from(*seq).ok()?);
        let seen = surface.nodes().iter().rev().filter_map(at).find_map(|event| seen(&event));
        let said = seen.is_some() || events.iter().any(|event| seen_in(&event));
        Self { said, seen, generation: surface.replace_generation() }
    }

    /// Notes what was said in an event.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Some(seen) = seen(event) {
            (self.said, self.seen) = (true, Some(seen));
        }
    }

    /// The message that says what the runtime context is now; none if the model knows.
    pub(crate) fn update(&mut self, session: &Session, sections: Vec<Section>) -> Option<Arc<Message>> {
        self.look_again(session);
        let text = join_contexts(&sections);
        if text.is_empty() && !self.said {
            return None;
        }
        let (text, form, sections) = match text.is_empty() {
            true => (GONE.to_owned(), None, None),
            false => (text, Some(PluginForm::Snapshot), Some(sections)),
        };
        if self.seen.as_ref().and_then(|seen| seen.text.as_ref()) == Some(&text) {
            return None;
        }
        let source = Source::Plugin { plugin: PLUGIN.to_owned(), form, sections, summary: None };
        Some(Arc::new(Message::new(Role::User, vec![ContentBlock::text(text)], source)))
    }

    /// Whether the message is still seen.
    fn look_again(&mut self, session: &Session) {
        if session.replace_generation() != self.generation {
            let surface = session.surface();
            self.generation = surface.replace_generation();
            self.seen = self.seen.take().filter(|seen| surface.nodes().contains(&seen.seq));
        }
    }
}

fn seen(event: &Event) -> Option<Seen> {
    let message = event.message().filter(|_| seen_in(event))?;
    let text = match message.content.as_slice() {
        [ContentBlock::Text { text }] => Some(text.clone()),
        _ => None,
    };
    Some(Seen { seq: event.seq(), text })
}

fn seen_in(event: &Event) -> bool {
    let source = event.message().map(|message| &message.source);
    event.kind() == "user/message"
        && matches!(source, Some(Source::Plugin { plugin, .. }) if plugin == PLUGIN)
}
