//! All event types that have a shape of their own here, as one enum.

use std::sync::Arc;

use dsh_llm::Message;

use crate::error::BadData;
use crate::event::Event;
use crate::payload::{
    AssistantChunk, AssistantMessage, EndSeed, InboxSpliced, RequestContext, RequestHeader, StepEnd,
    StepStart, TodoWrite, ToolCall, ToolResult, TurnEnd, TurnStart,
};
use crate::text::JsonText;

macro_rules! event_data {
    ($($variant:ident,)*) => {
        /// What an event holds.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum EventData {
            $(
                #[doc = concat!("See [`", stringify!($variant), "`].")]
                $variant($variant),
            )*
            /// `user/message`.
            UserMessage(Arc<Message>),
            /// A type of a plugin, or one that this build does not know: its data, untouched. A plugin reads its own by
            /// [`Event::payload`].
            Other(JsonText),
        }

        impl EventData {
            pub(crate) fn of(event: &Event) -> Result<Self, BadData> {
                $(
                    if let Some(data) = event.payload::<$variant>()? {
                        return Ok(Self::$variant(data));
                    }
                )*
                match event.message() {
                    Some(message) => Ok(Self::UserMessage(message.clone())),
                    None => Ok(Self::Other(event.data().clone())),
                }
            }
        }
    };
}

event_data! {
    TurnStart, TurnEnd, StepStart, StepEnd, AssistantChunk, AssistantMessage, ToolCall, ToolResult, TodoWrite,
    RequestHeader, RequestContext, EndSeed, InboxSpliced,
}
