//! An app with the service, and a scripted model of the provider `acme`.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, BoxFuture, Context, Fiber, Next, define};
use dsh_llm::testing::{Answer, ScriptedAdapter, ScriptedModel, finish, plain};
use dsh_llm::{
    Adapter, CallConfig, ChunkSink, ContentBlock, FinishReason, LLM, Llm, LlmError, LlmFailure, Message,
    Model, ModelCall, ModelEntry, ModelInfo, ModelRequest, ModelStream, Outcome, ProviderInfo, Registration,
    STREAM, StreamChunk,
};
use tokio_util::sync::CancellationToken;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) llm: Llm,
    /// The plugin of the service.
    pub(crate) plugin: Fiber,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        let plugin = app.plugin(dsh_llm::plugin(), ()).unwrap();
        app.quiet().await;
        let handle = app.get(LLM).unwrap();
        let llm = Llm::clone(&handle.get().unwrap());
        Self { app, llm, plugin }
    }

    /// With a model that serves `acme`.
    pub(crate) async fn with(answers: impl IntoIterator<Item = Answer>) -> (Self, ScriptedModel) {
        let fixture = Self::new().await;
        let model = ScriptedModel::new(answers);
        fixture.serve("acme", &model);
        (fixture, model)
    }

    pub(crate) fn serve(&self, provider: &str, model: &ScriptedModel) -> Registration {
        self.llm.register(&self.app, [provider], model.adapter()).unwrap()
    }

    /// A plugin that registers an adapter and keeps nothing of it.
    pub(crate) async fn plugin_of(&self, name: &'static str, provider: &str, model: &ScriptedModel) -> Fiber {
        let serves = Serves { provider: provider.to_owned(), adapter: model.adapter() };
        let fiber = self.app.plugin(define(name).needs(LLM).run(serve), Some(Arc::new(serves))).unwrap();
        self.app.quiet().await;
        assert_eq!(fiber.error().map(|error| error.to_string()), None);
        fiber
    }

    /// A plugin that does nothing by itself.
    pub(crate) async fn host(&self) -> Fiber {
        let fiber = self.app.plugin(define("host").run(idle), ()).unwrap();
        self.app.quiet().await;
        fiber
    }

    /// Has every call go to another provider.
    pub(crate) fn reroute(&self, provider: &'static str) {
        let listening = self.app.on(STREAM).with(provider).run(
            async |provider: &&'static str, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
                call.request.config.provider = (*provider).to_owned();
                next.run(call).await
            },
        );
        listening.unwrap();
    }

    pub(crate) fn ask(&self, provider: &str) -> ModelStream {
        self.llm.stream(request(provider))
    }

    pub(crate) fn provider_ids(&self) -> Vec<String> {
        self.llm.providers().into_iter().map(|info| info.id).collect()
    }
}

/// Asks twice, and lets both answers through.
pub(crate) async fn twice(call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>) -> Outcome {
    next.clone().run(call).await?;
    next.run(call).await
}

/// An adapter whose models do what a closure says.
pub(crate) struct Acts(Act);

type Act = Arc<dyn Fn(ChunkSink) -> BoxFuture<'static, Result<(), LlmError>> + Send + Sync>;

pub(crate) struct Actor(Act);

impl Acts {
    pub(crate) fn new<Fut>(act: impl Fn(ChunkSink) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Result<(), LlmError>> + Send + 'static,
    {
        Self(Arc::new(move |out| Box::pin(act(out))))
    }
}

impl Adapter for Acts {
    type Model = Actor;

    fn provider(&self, provider: &str) -> ProviderInfo {
        ProviderInfo { id: provider.to_owned(), name: "Acts".to_owned() }
    }

    async fn models(&self, _: &str) -> Result<Vec<ModelEntry>, LlmError> {
        Ok(Vec::new())
    }

    async fn model(&self, _: &str, _: &str, _: &CancellationToken) -> Result<Actor, LlmError> {
        Ok(Actor(self.0.clone()))
    }
}

impl Model for Actor {
    fn info(&self) -> ModelInfo {
        plain("acme", "m")
    }

    async fn stream(&self, _: &ModelRequest, out: &mut ChunkSink) -> Result<(), LlmError> {
        (self.0)(out.clone()).await
    }
}

/// Hands every piece on.
pub(crate) async fn passing(call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>) -> Outcome {
    let mut out = call.out.clone();
    let mut below = call.below(next);
    while let Some(chunk) = below.next().await {
        out.send(chunk).await;
    }
    below.outcome()
}

async fn idle(_: &Context, (): (), (): &()) -> Result<(), BoxError> {
    Ok(())
}

struct Serves {
    provider: String,
    adapter: ScriptedAdapter,
}

async fn serve(
    ctx: &Context,
    llm: cordis::Handle<Llm>,
    config: &Option<Arc<Serves>>,
) -> Result<(), BoxError> {
    let Some(serves) = config else { return Ok(()) };
    llm.get()?.register(ctx, [serves.provider.clone()], serves.adapter.clone())?;
    Ok(())
}

pub(crate) fn request(provider: &str) -> ModelRequest {
    let message = Message::user(vec![ContentBlock::text("hello")]);
    ModelRequest::new(CallConfig::new(provider, "m"), vec![Arc::new(message)])
}

pub(crate) fn delta(text: impl Into<String>) -> StreamChunk {
    StreamChunk::TextDelta { index: 0, text: text.into() }
}

pub(crate) fn stop() -> StreamChunk {
    finish(FinishReason::Stop {})
}

/// The pieces with their texts, and how the answer ended, as short words.
pub(crate) fn short(chunks: &[StreamChunk]) -> Vec<String> {
    let word = |chunk: &StreamChunk| match chunk {
        StreamChunk::TextDelta { text, .. } => text.clone(),
        StreamChunk::Finish { reason, .. } => match reason {
            FinishReason::Stop {} => "stop".to_owned(),
            FinishReason::Aborted { failure } => format!("aborted {}", failure.code),
            FinishReason::Error { failure } => format!("error {}", failure.code),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    };
    chunks.iter().map(word).collect()
}

/// How an answer failed, which must be its last piece and its only finish.
pub(crate) fn failure(chunks: &[StreamChunk]) -> &LlmFailure {
    let is_finish = |chunk: &&StreamChunk| matches!(chunk, StreamChunk::Finish { .. });
    assert_eq!(chunks.iter().filter(is_finish).count(), 1, "{chunks:?}");
    match chunks.last() {
        Some(StreamChunk::Finish {
            reason: FinishReason::Error { failure } | FinishReason::Aborted { failure },
            replay_state: None,
        }) => failure,
        other => panic!("no failure: {other:?}"),
    }
}
