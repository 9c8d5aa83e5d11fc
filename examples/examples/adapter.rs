//! An adapter: what talks to the models of a provider. This one's model says what it was told, backwards.

use std::sync::Arc;

use cordis::{App, BoxError};
use dsh_llm::{
    Adapter, Assembler, CallConfig, ChunkSink, ContentBlock, FinishReason, LLM, LlmError, Message, Model,
    ModelEntry, ModelInfo, ModelRequest, ProviderInfo, StreamChunk,
};
use tokio_util::sync::CancellationToken;

struct Mirrors;

struct Mirror(ModelInfo);

impl Adapter for Mirrors {
    type Model = Mirror;

    fn provider(&self, provider: &str) -> ProviderInfo {
        ProviderInfo { id: provider.to_owned(), name: "Mirrors".to_owned() }
    }

    async fn models(&self, _provider: &str) -> Result<Vec<ModelEntry>, LlmError> {
        Ok(Vec::new())
    }

    async fn model(&self, provider: &str, model: &str, _: &CancellationToken) -> Result<Mirror, LlmError> {
        let [provider, id, name] = [provider, model, "Mirror"].map(str::to_owned);
        let (input_modalities, context_window, default_max_tokens, reasoning) = Default::default();
        Ok(Mirror(ModelInfo {
            provider,
            id,
            name,
            input_modalities,
            context_window,
            default_max_tokens,
            reasoning,
        }))
    }
}

impl Model for Mirror {
    fn info(&self) -> ModelInfo {
        self.0.clone()
    }

    /// `send` ends when the reader has taken the piece: nothing is made ahead of it.
    async fn stream(&self, request: &ModelRequest, out: &mut ChunkSink) -> Result<(), LlmError> {
        let said = request.messages.last().map(|message| message.text()).unwrap_or_default();
        for letter in said.chars().rev() {
            out.send(StreamChunk::TextDelta { index: 0, text: letter.to_string() }).await;
        }
        out.send(StreamChunk::Finish { reason: FinishReason::Stop {}, replay_state: None }).await;
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.plugin(dsh_llm::plugin(), ())?.ready().await?;
    let llm = app.get(LLM).ok_or("no models")?;
    let mirrors = llm.get()?.register(&app, ["mirrors"], Mirrors)?;
    let request = || {
        let message = Arc::new(Message::user(vec![ContentBlock::text("drawkcab")]));
        ModelRequest::new(CallConfig::new("mirrors", "plain"), [message])
    };
    for _ in 0..2 {
        let mut answer = llm.get()?.stream(request());
        let mut assembler = Assembler::new();
        while let Some(chunk) = answer.next().await {
            assembler.add(&chunk?)?;
        }
        println!("{:?} {:?}", assembler.blocks()?, assembler.finish());
        mirrors.replace(Vec::<String>::new())?; // nobody is served any more
    }
    Ok(())
}
