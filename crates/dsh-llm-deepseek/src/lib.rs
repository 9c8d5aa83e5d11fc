//! Models of DeepSeek, and of whatever speaks its protocol: chat completions as a stream of events.
//!
//! The plugin registers an adapter for the provider `deepseek-official`. A call is one POST to `/chat/completions` below the base
//! URL, with the key of an environment variable; its body is written straight from the messages, and the pieces of the answer are
//! handed on as they arrive, never ahead of whoever reads them.
//!
//! Read `config`, `models` (what is known of a model), `credentials` and `endpoint` (what a call starts from), `headers`, `identity`,
//! `wire` and `wire_messages` (what is sent), then `adapter` (the way of a call), with `client`, `exchange`, `refusal`, `retry_after`
//! and `watch` (what can go wrong), and `sse`, `payload`, `calls`, `counted`, `reported` and `answer`
//! (what comes back).
//!
//! **Architecture Invariant:** nothing is tried again here; see `dsh_llm::RetryPolicy`. The same request is the same bytes each time.
//!
//! **Architecture Invariant:** no task is started for a call. What a call has of the network is dropped with its future; open
//! connections wait in the client, and go with the plugin.
//!
//! **Architecture Invariant:** the key is in one type that does not print it, and in one header that is marked so. What a server
//! sends back is searched for it before it becomes an error.
//!
//! # What is told to whom
//! Every request carries the name of this program. Whatever the base URL is, it also carries the id of the session, and a random id of
//! this installation ([`Config::anonymous_id_file`]); `attribution: false` leaves the latter out. Nothing else is said about the user.
//! A redirect to another server is followed with the conversation, without the key.
//!
//! # Other servers
//! With `baseURL`, or `DEEPSEEK_BASE_URL`, any server that speaks this protocol can be asked; the provider is called
//! `deepseek-official` all the same, and any model can be named. A server that refuses `thinking` and `reasoning_effort` is spared them by
//! `thinking: omitted`, one with shorter answers is given `maxTokens`, and one that wants no key is given any. All of them need to accept
//! `stream_options`. This was tried with mock servers of this repository only, not with any other product.
//!
//! # Examples
//! ```no_run
//! use cordis::App;
//! use dsh_llm::{CallConfig, ContentBlock, FinishReason, LLM, Message, ModelRequest, StreamChunk};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! app.plugin(dsh_llm::plugin(), ())?;
//! app.plugin(dsh_llm_deepseek::plugin(), dsh_llm_deepseek::Config::default())?.ready().await?;
//!
//! let llm = app.get(LLM).ok_or("there are no models")?;
//! let question = Message::user(vec![ContentBlock::text("Why is the sky blue?")]);
//! let config = CallConfig::new("deepseek-official", "deepseek-v4-flash");
//! let mut answer = llm.get()?.stream(ModelRequest::new(config, [question.into()]));
//! while let Some(chunk) = answer.next().await {
//!     match chunk? {
//!         StreamChunk::TextDelta { text, .. } => print!("{text}"),
//!         // A failure is how the answer ends.
//!         StreamChunk::Finish { reason: FinishReason::Error { failure }, .. } => eprintln!("{}", failure.message),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod adapter;
mod answer;
mod calls;
mod client;
mod config;
mod counted;
mod credentials;
mod endpoint;
mod exchange;
mod headers;
mod identity;
mod mended;
mod models;
mod payload;
mod refusal;
mod reported;
mod retry_after;
mod sse;
#[cfg(feature = "testing")]
pub mod testing;
mod watch;
mod whole;
mod wire;
mod wire_messages;
mod wording;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_llm::{LLM, Llm};

pub use config::{Config, ConfigError, Effort, ModelConfig, ProxyUrl, Thinking};
pub use endpoint::EndpointError;

use adapter::DeepSeek;
use config::NAME;
use models::PROVIDER;

cordis::catalog!(plugin);

/// Registers the adapter for the provider `deepseek-official`.
///
/// It loads without a key, and its models can be looked at: what is missing is said when one is asked. Another configuration
/// reloads the plugin, and ends the answers that are arriving; one that cannot be is refused, and the old one stays.
///
/// Source: the reference's plugin `llm-deepseek`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define(NAME).needs(LLM).validate(|config: &Config| config.check().map_err(BoxError::from)).run(apply)
}

async fn apply(ctx: &Context, llm: Handle<Llm>, config: &Config) -> Result<(), BoxError> {
    llm.get()?.register(ctx, [PROVIDER], DeepSeek::new(config.clone()))?;
    Ok(())
}
