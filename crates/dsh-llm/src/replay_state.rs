//! What an adapter wants to see again goes to that adapter only.

use std::sync::Arc;

use crate::message::Message;
use crate::source::Source;

/// The messages without what other adapters left in them. Those that nothing is taken from are shared.
pub(crate) fn own_replay_state(
    messages: Arc<[Arc<Message>]>,
    is_own: impl Fn(&str) -> bool,
) -> Arc<[Arc<Message>]> {
    let is_foreign = |message: &Message| match &message.source {
        Source::Model { provider, replay_state: Some(_), .. } => !is_own(provider),
        _ => false,
    };
    if !messages.iter().any(|message| is_foreign(message)) {
        return messages;
    }
    let stripped = |message: &Arc<Message>| {
        if !is_foreign(message) {
            return message.clone();
        }
        let mut stripped = Message::clone(message);
        if let Source::Model { replay_state, .. } = &mut stripped.source {
            *replay_state = None;
        }
        Arc::new(stripped)
    };
    messages.iter().map(stripped).collect()
}
