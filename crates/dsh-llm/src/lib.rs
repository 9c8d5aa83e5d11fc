//! What is said between an agent and a model: messages made of content blocks, the chunks in which an answer arrives, what
//! it cost and how it failed.
//!
//! These are the types that a session log holds; adapters and requests come on top of them. The vocabularies are open: a
//! block, source, chunk or reason of a kind that this build does not know is kept as it came. Read `message`, `content`
//! and `source`, then `chunk`, `finish`, `failure` and `usage`, then `call`.
//!
//! **Architecture Invariant:** nothing here is changed after it was made. A message is shared behind an `Arc` from the log
//! to the request, with one id.

mod call;
mod chunk;
mod content;
mod failure;
mod finish;
mod message;
pub mod open;
mod source;
mod usage;

pub use call::{CallConfig, ToolSchema};
pub use chunk::StreamChunk;
pub use content::ContentBlock;
pub use failure::{InvalidFailure, LlmFailure};
pub use finish::FinishReason;
pub use message::{InvalidMessage, Message, Role};
pub use source::{PluginForm, Section, Source};
pub use usage::TokenUsage;
