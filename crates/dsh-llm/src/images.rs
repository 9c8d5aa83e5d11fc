//! Pictures in messages for models that cannot be told any.

use std::sync::Arc;

use crate::content::ContentBlock;
use crate::info::{Modality, ModelInfo};
use crate::message::Message;

/// How much of a picture's digest names it.
const DIGITS: usize = 8;

/// The messages with a short text in the place of every picture, if the model is known to read text only. Those without
/// pictures are shared.
pub(crate) fn text_only(messages: Arc<[Arc<Message>]>, info: &ModelInfo) -> Arc<[Arc<Message>]> {
    let is_text_only =
        info.input_modalities.as_ref().is_some_and(|modalities| !modalities.contains(&Modality::Image));
    if !is_text_only || !messages.iter().any(|message| has_image(&message.content)) {
        return messages;
    }
    let projected = |message: &Arc<Message>| match has_image(&message.content) {
        false => message.clone(),
        true => Arc::new(Message { content: without_images(&message.content), ..Message::clone(message) }),
    };
    messages.iter().map(projected).collect()
}

fn has_image(blocks: &[ContentBlock]) -> bool {
    blocks.iter().any(|block| match block {
        ContentBlock::Image { .. } => true,
        ContentBlock::ToolResult { content, .. } => has_image(content),
        _ => false,
    })
}

fn without_images(blocks: &[ContentBlock]) -> Vec<ContentBlock> {
    let projected = |block: &ContentBlock| match block {
        ContentBlock::Image { attachment } => ContentBlock::text(placeholder(attachment)),
        ContentBlock::ToolResult { tool_call_id, content, is_error } => ContentBlock::ToolResult {
            tool_call_id: tool_call_id.clone(),
            content: without_images(content),
            is_error: *is_error,
        },
        block => block.clone(),
    };
    blocks.iter().map(projected).collect()
}

fn placeholder(attachment: &serde_json::Value) -> String {
    let id = attachment.get("attachmentId").and_then(serde_json::Value::as_str).unwrap_or_default();
    let digest: String = id.strip_prefix("sha256:").unwrap_or(id).chars().take(DIGITS).collect();
    format!("[image {digest}: not shown, this model reads text only]")
}
