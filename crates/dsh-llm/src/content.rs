//! What a message is made of.

use crate::open_enum;

open_enum! {
    /// One block of a message.
    ///
    /// Source: the content blocks of the reference, by `type`.
    pub enum ContentBlock by by_type("type") {
        /// Text for people or models.
        Text = "text" {
            /// The text.
            text: String,
        }
        /// What a model thought before it answered.
        Reasoning = "reasoning" {
            /// The text.
            text: String,
        }
        /// A picture, by reference.
        Image = "image" {
            /// Where it is kept: at least `attachmentId` and `bytes`.
            attachment: serde_json::Value,
        }
        /// A call that the model asks for.
        ToolCall = "tool-call" {
            /// The call's id, given by the model.
            id: String,
            /// The tool's name, as the model wrote it.
            name: String,
            /// The model's text for the arguments: meant to be JSON, not checked.
            arguments: String,
        }
        /// What a call came to.
        ToolResult = "tool-result" {
            /// The call that it answers.
            tool_call_id: String,
            /// What the model reads.
            content: Vec<ContentBlock>,
            /// Whether the call failed; absent means it did not.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::open::present")]
            is_error: Option<bool>,
        }
    }
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}
