//! One event of a log.

use std::borrow::Cow;
use std::sync::Arc;

use dsh_llm::Message;
use serde::de::DeserializeOwned;

use crate::data::EventData;
use crate::error::BadData;
use crate::json::{object, reason};
use crate::payload::Payload;
use crate::surface::SurfaceOp;
use crate::text::JsonText;
use crate::vocabulary::known;

/// One event: its place in the log, its time and what happened. Never changed once it is in a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub(crate) seq: u64,
    pub(crate) time_ms: i64,
    pub(crate) kind: Cow<'static, str>,
    pub(crate) data: JsonText,
    pub(crate) surface: Option<SurfaceOp>,
    pub(crate) sources: Option<Arc<[u64]>>,
    pub(crate) ignorable: bool,
    /// Present on the three surface types.
    pub(crate) message: Option<Arc<Message>>,
}

impl Event {
    /// The event's place in the log, counted from 0.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The wall clock at append, in milliseconds since the epoch. It may go back.
    #[must_use]
    pub fn time_ms(&self) -> i64 {
        self.time_ms
    }

    /// The event's type, such as `turn/start`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The event's data as JSON text, byte for byte as it came.
    #[must_use]
    pub fn data(&self) -> &JsonText {
        &self.data
    }

    /// How the event changes the conversation that the model sees; only on the three types that do.
    #[must_use]
    pub fn surface(&self) -> Option<SurfaceOp> {
        self.surface
    }

    /// The events that this one was made from: none if that was not recorded, empty if it was made from nothing.
    #[must_use]
    pub fn sources(&self) -> Option<&[u64]> {
        self.sources.as_deref()
    }

    /// Whether a reader that does not know the type may skip the event.
    #[must_use]
    pub fn is_ignorable(&self) -> bool {
        self.ignorable
    }

    /// The message of an event of a surface type: the very one that the conversation shows.
    #[must_use]
    pub fn message(&self) -> Option<&Arc<Message>> {
        self.message.as_ref()
    }

    /// The data as `P`, if the event is of that type.
    ///
    /// # Errors
    /// The event is of that type and its data is not what the type says.
    pub fn payload<P: Payload>(&self) -> Result<Option<P>, BadData> {
        if self.kind != P::TYPE {
            return Ok(None);
        }
        P::read(self.data.get()).map(Some).map_err(|reason| BadData {
            kind: P::TYPE.to_owned(),
            seq: self.seq,
            reason,
        })
    }

    /// The data as a `T`, whatever the event's type is: for those who look at a part of it only.
    ///
    /// # Errors
    /// What is wrong with it: it is no object, or no `T`.
    pub fn read_as<T: DeserializeOwned>(&self) -> Result<T, String> {
        object(self.data.get()).map_err(|error| reason(&error))
    }

    /// The data as the type says.
    ///
    /// # Errors
    /// The type is known and the data is not what it says.
    pub fn read(&self) -> Result<EventData, BadData> {
        EventData::of(self)
    }
}

/// Shares the text of the types that this build knows.
pub(crate) fn kind_of(name: &str) -> Cow<'static, str> {
    known(name).map_or_else(|| Cow::Owned(name.to_owned()), Cow::Borrowed)
}
