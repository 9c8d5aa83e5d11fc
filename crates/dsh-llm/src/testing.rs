//! A model that answers as a test says, for the tests of plugin authors (feature `testing`).
//!
//! ```
//! use cordis::testing::TestApp;
//! use dsh_llm::testing::{Answer, ScriptedModel, collected};
//! use dsh_llm::{CallConfig, LLM, ModelRequest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let app = TestApp::new();
//! app.plugin(dsh_llm::plugin(), ()).unwrap();
//! app.quiet().await;
//! let llm = app.get(LLM).unwrap();
//! let llm = llm.get().unwrap();
//!
//! let model = ScriptedModel::new([Answer::text("hello")]);
//! llm.register(&app, ["acme"], model.adapter()).unwrap();
//! let chunks = collected(llm.stream(ModelRequest::new(CallConfig::new("acme", "m"), []))).await;
//! assert_eq!(chunks.unwrap().len(), 4, "a block begins, grows and ends, and the answer finishes");
//! assert_eq!(model.requests().len(), 1);
//! # }
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::adapter::{Adapter, Model};
use crate::chunk::StreamChunk;
use crate::code;
use crate::content::ContentBlock;
use crate::error::LlmError;
use crate::finish::FinishReason;
use crate::info::{ModelEntry, ModelInfo, ProviderInfo};
use crate::request::ModelRequest;
use crate::retry::RetryPolicy;
use crate::sink::ChunkSink;
use crate::stream::{ModelStream, StreamError};

/// A model that answers from a list, each answer once, and keeps what it was asked. Clones share both.
#[derive(Clone)]
pub struct ScriptedModel {
    shared: Arc<Shared>,
}

struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<ModelRequest>>,
    sent: AtomicU64,
    info: Mutex<Info>,
}

type Info = Arc<dyn Fn(&str, &str) -> ModelInfo + Send + Sync>;

/// One answer: its steps, in order.
#[derive(Debug, Default)]
pub struct Answer {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Send(StreamChunk),
    Wait(Gate),
    Fail(LlmError),
    Panic(String),
}

/// What an answer waits for, until the test opens it. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    open: CancellationToken,
    reached: CancellationToken,
}

/// The adapter of a [`ScriptedModel`]: it knows every model of every provider that it is registered for.
#[derive(Clone, Debug)]
pub struct ScriptedAdapter {
    model: ScriptedModel,
    policy: RetryPolicy,
}

/// One model of one provider of a [`ScriptedAdapter`].
#[derive(Debug)]
pub struct ScriptedCall {
    model: ScriptedModel,
    info: ModelInfo,
}

impl ScriptedModel {
    /// A model that gives these answers. A call past the last one fails.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let shared = Shared {
            answers: Mutex::new(answers.into_iter().collect()),
            requests: Mutex::default(),
            sent: AtomicU64::new(0),
            info: Mutex::new(Arc::new(plain)),
        };
        Self { shared: Arc::new(shared) }
    }

    /// What is said of a provider's model from now on.
    #[must_use]
    pub fn with_info(self, info: impl Fn(&str, &str) -> ModelInfo + Send + Sync + 'static) -> Self {
        let old = std::mem::replace(&mut *self.shared.info.lock(), Arc::new(info));
        drop(old);
        self
    }

    /// Adds an answer behind the others.
    pub fn push(&self, answer: Answer) {
        self.shared.answers.lock().push_back(answer);
    }

    /// What was asked so far, as the adapter was told it.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.requests.lock().clone()
    }

    /// How many pieces were taken by their readers, as far as it has been told: it hears of the last one when it runs again.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }

    /// An adapter for it, to be registered.
    #[must_use]
    pub fn adapter(&self) -> ScriptedAdapter {
        ScriptedAdapter { model: self.clone(), policy: RetryPolicy::default() }
    }
}

/// What is said of a model of which nothing is known.
#[must_use]
pub fn plain(provider: &str, model: &str) -> ModelInfo {
    ModelInfo {
        provider: provider.to_owned(),
        id: model.to_owned(),
        name: model.to_owned(),
        input_modalities: None,
        context_window: None,
        default_max_tokens: None,
        reasoning: None,
    }
}

/// All pieces of a stream.
///
/// # Errors
/// A listener failed.
pub async fn collected(mut stream: ModelStream) -> Result<Vec<StreamChunk>, StreamError> {
    let mut chunks = Vec::new();
    while let Some(chunk) = stream.next().await {
        chunks.push(chunk?);
    }
    Ok(chunks)
}

impl Answer {
    /// An answer that ends without a word, not even a finish.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One block of text, and a finish.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new().chunks([
            StreamChunk::BlockStart { index: 0, block_type: "text".to_owned() },
            StreamChunk::TextDelta { index: 0, text: text.clone() },
            StreamChunk::BlockEnd { index: 0, block: ContentBlock::Text { text } },
            finish(FinishReason::Stop {}),
        ])
    }

    /// A failure at once.
    #[must_use]
    pub fn error(error: LlmError) -> Self {
        Self::new().fail(error)
    }

    /// Then these pieces.
    #[must_use]
    pub fn chunks(mut self, chunks: impl IntoIterator<Item = StreamChunk>) -> Self {
        self.steps.extend(chunks.into_iter().map(Step::Send));
        self
    }

    /// Then nothing until the gate is open.
    #[must_use]
    pub fn wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    /// Then a failure, which ends it.
    #[must_use]
    pub fn fail(mut self, error: LlmError) -> Self {
        self.steps.push(Step::Fail(error));
        self
    }

    /// Then a panic, which ends it.
    #[must_use]
    pub fn panic(mut self, text: impl Into<String>) -> Self {
        self.steps.push(Step::Panic(text.into()));
        self
    }
}

/// The piece that ends an answer.
#[must_use]
pub fn finish(reason: FinishReason) -> StreamChunk {
    StreamChunk::Finish { reason, replay_state: None }
}

impl Gate {
    /// A gate that is shut.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.open.cancel();
    }

    /// Waits until an answer has come to it.
    pub async fn reached(&self) {
        self.reached.cancelled().await;
    }

    async fn pass(&self) {
        self.reached.cancel();
        self.open.cancelled().await;
    }
}

impl ScriptedAdapter {
    /// The adapter with another policy of retries.
    #[must_use]
    pub fn with_policy(self, policy: RetryPolicy) -> Self {
        Self { policy, ..self }
    }
}

impl Adapter for ScriptedAdapter {
    type Model = ScriptedCall;

    fn provider(&self, provider: &str) -> ProviderInfo {
        ProviderInfo { id: provider.to_owned(), name: format!("Scripted {provider}") }
    }

    fn retry_policy(&self, _: &str) -> RetryPolicy {
        self.policy.clone()
    }

    async fn models(&self, _: &str) -> Result<Vec<ModelEntry>, LlmError> {
        Ok(Vec::new())
    }

    async fn model(
        &self,
        provider: &str,
        model: &str,
        _: &CancellationToken,
    ) -> Result<ScriptedCall, LlmError> {
        let info = self.model.shared.info.lock().clone();
        Ok(ScriptedCall { model: self.model.clone(), info: info(provider, model) })
    }
}

impl Model for ScriptedCall {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn stream(&self, request: &ModelRequest, out: &mut ChunkSink) -> Result<(), LlmError> {
        let shared = &self.model.shared;
        shared.requests.lock().push(request.clone());
        let answer = shared.answers.lock().pop_front();
        let Some(answer) = answer else {
            return Err(LlmError::new(code::UNKNOWN, "the script of the model has no more answers"));
        };
        for step in answer.steps {
            match step {
                Step::Send(chunk) => {
                    out.send(chunk).await;
                    shared.sent.fetch_add(1, Ordering::SeqCst);
                }
                Step::Wait(gate) => gate.pass().await,
                Step::Fail(error) => return Err(error),
                Step::Panic(text) => std::panic::panic_any(text),
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.shared.answers.lock().len();
        f.debug_struct("ScriptedModel").field("left", &left).field("sent", &self.sent()).finish()
    }
}
