//! What the log holds of titles.

use dsh_llm::{Source, open_enum};
use dsh_session::{Event, Payload, Session};
use serde::{Deserialize, Serialize};

use crate::normal::normalized;

/// A title was given to the session; the last one stands.
///
/// It names the messages that it was made from, which are none exactly if the user gave it.
///
/// Source: event type `session/title`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTitle {
    title: String,
    message_seqs: Vec<u64>,
    source: TitleSource,
}

open_enum! {
    /// Who made a title.
    pub enum TitleSource by by_kind("kind") {
        /// Nobody: it is how the first message begins.
        Fallback = "fallback" {}
        /// A plugin that makes titles.
        Provider = "provider" {
            /// The plugin's name.
            provider: String,
            /// The model that it asked, if it asked one.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "dsh_llm::open::present")]
            model: Option<ModelRoute>,
        }
        /// The user. The title is pinned.
        User = "user" {}
    }
}

/// A model, and who runs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRoute {
    /// The provider's name.
    pub provider: String,
    /// The model's id.
    pub model: String,
}

impl SessionTitle {
    pub(crate) fn of_user(title: String) -> Self {
        Self { title, message_seqs: Vec::new(), source: TitleSource::User {} }
    }

    pub(crate) fn fallback(title: String, message_seq: u64) -> Self {
        Self { title, message_seqs: vec![message_seq], source: TitleSource::Fallback {} }
    }

    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The numbers of the messages that it was made from.
    #[must_use]
    pub fn message_seqs(&self) -> &[u64] {
        &self.message_seqs
    }

    /// Who made it.
    #[must_use]
    pub fn source(&self) -> &TitleSource {
        &self.source
    }

    /// Whether the user gave it, so that nothing but the user changes it.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        matches!(self.source, TitleSource::User {})
    }

    pub(crate) fn is_fallback(&self) -> bool {
        matches!(self.source, TitleSource::Fallback {})
    }
}

impl Payload for SessionTitle {
    const TYPE: &'static str = "session/title";

    fn read(text: &str) -> Result<Self, String> {
        if !text.trim_start().starts_with('{') {
            return Err("an object is expected".to_owned());
        }
        let title: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match (title.is_pinned(), title.message_seqs.is_empty()) {
            (true, false) => Err("a title that the user gave was made from no messages".to_owned()),
            (false, true) => Err("`messageSeqs` names the messages that the title was made from".to_owned()),
            (true, true) | (false, false) => Ok(title),
        }
    }
}

/// The session's title: the last one of its log. An event that is not what a title is does not count.
#[must_use]
pub fn title_of(session: &Session) -> Option<SessionTitle> {
    session.events().iter().rev().find_map(|event| event.payload().ok().flatten())
}

/// What the user said, as one line, and where; none if the event is something else, or nothing of it can be seen.
pub(crate) fn said(event: &Event) -> Option<(u64, String)> {
    let message = event.message().filter(|_| event.kind() == "user/message")?;
    if !matches!(message.source, Source::User {}) {
        return None;
    }
    let line = normalized(&message.text(), usize::MAX);
    (!line.is_empty()).then(|| (event.seq(), line))
}
