//! What is said between an agent and a model: messages made of content blocks, the chunks in which an answer arrives, what
//! it cost and how it failed; and the service through which models are asked.
//!
//! The vocabulary is what a session log holds, and it is open: a block, source, chunk or reason of a kind that this build does
//! not know is kept as it came. Read `message`, `content` and `source`, then `chunk`, `finish`, `failure` and `usage`, then `call`.
//!
//! The service is [`Llm`]. Plugins register an [`Adapter`] for the providers that they talk to; whoever wants an answer makes a
//! [`ModelRequest`] and reads a [`ModelStream`]. Between the two are the listeners of [`STREAM`]. Read `request`, `adapter` and
//! `info`, then `sink` and `model_call` (how pieces travel), then `llm` (the way of a call, from top to bottom). What is
//! registered under which name is in `claims`: adapters (`registry`), providers that can be set up (`directory`), and who looks
//! for models (`discovery`).
//!
//! **Architecture Invariant:** nothing of the vocabulary is changed after it was made. A message is shared behind an `Arc` from
//! the log to the request, with one id.
//!
//! **Architecture Invariant:** a dispatch of [`STREAM`] lasts as long as its answer, and pieces are made when they are read. No
//! task, queue or buffer is between an adapter and the reader.
//!
//! **Architecture Invariant:** nothing is tried again here, and no text of a provider is looked into. Whether and how to retry
//! is decided by who asked.
//!
//! # Examples
//! ```
//! use std::sync::Arc;
//!
//! use cordis::App;
//! use dsh_llm::testing::{Answer, ScriptedModel}; // feature `testing`
//! use dsh_llm::{Assembler, CallConfig, ContentBlock, LLM, Message, ModelRequest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let app = App::new()?;
//! app.plugin(dsh_llm::plugin(), ())?.ready().await?;
//! let llm = app.get(LLM).ok_or("no models")?.get()?.clone();
//! let scripted = llm.register(&app, ["scripted"], ScriptedModel::new([Answer::text("It is noon.")]).adapter())?;
//!
//! let question = || Arc::new(Message::user(vec![ContentBlock::text("What time is it?")]));
//! let mut answer = llm.stream(ModelRequest::new(CallConfig::new("scripted", "m"), [question()]));
//! let mut assembler = Assembler::new();
//! while let Some(chunk) = answer.next().await {
//!     assembler.add(&chunk?)?;
//! }
//! assert_eq!(assembler.blocks()?, [ContentBlock::text("It is noon.")]);
//!
//! scripted.dispose().await;
//! assert!(!llm.has_provider("scripted"));
//! # Ok(())
//! # }
//! ```

mod call;
mod chunk;
pub mod classify;
pub mod code;
mod content;
mod error;
mod error_chain;
mod failure;
mod finish;
mod message;
pub mod open;
mod source;
mod usage;

mod adapter;
mod assembler;
mod info;
mod model_call;
mod offload;
mod request;
mod retry;
mod sink;

mod catalog;
mod claims;
mod directory;
mod discovery;
mod images;
pub mod keys;
mod llm;
mod pinned;
mod prepared;
mod registry;
mod replay_state;
mod resolve;
mod stream;
#[cfg(feature = "testing")]
pub mod testing;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

pub use adapter::{Adapter, Model};
pub use assembler::{AssembleError, Assembler};
pub use call::{AdapterDefaults, CallConfig, ToolSchema};
pub use chunk::StreamChunk;
pub use content::ContentBlock;
pub use directory::{ConfigurableProvider, ConfigurableRegistration, DirectoryError};
pub use discovery::{DiscoveredModel, DiscoveryError, DiscoveryQuery};
pub use error::LlmError;
pub use error_chain::error_chain;
pub use failure::{InvalidFailure, LlmFailure};
pub use finish::FinishReason;
pub use info::{Modality, ModelEntry, ModelInfo, ProviderInfo, Reasoning, ReasoningEffort};
pub use keys::{ADAPTERS_UPDATED, LLM, STREAM};
pub use llm::Llm;
pub use message::{InvalidMessage, Message, Role};
pub use model_call::{Below, ModelCall, Outcome};
pub use offload::{ImageBudget, ImageEncoding, offload_images};
pub use prepared::PreparedCall;
pub use registry::{RegisterError, Registration};
pub use request::{ModelRequest, Purpose};
pub use retry::{Backoff, InvalidRetryPolicy, RetryPolicy};
pub use sink::ChunkSink;
pub use source::{PluginForm, Section, Source};
pub use stream::{ModelStream, StreamError};
pub use usage::TokenUsage;

cordis::catalog!(plugin);

/// Provides [`LLM`].
pub fn plugin() -> impl Plugin<Config = ()> {
    define("llm").provides(LLM).run(apply)
}

async fn apply(ctx: &Context, (): (), _config: &()) -> Result<(), BoxError> {
    let llm = Llm::new(ctx.clone());
    let closed = llm.clone();
    ctx.effect("registries", move || async move { closed.close() })?;
    ctx.provide(LLM, Arc::new(llm))?;
    Ok(())
}
