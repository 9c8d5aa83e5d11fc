//! Whether the model answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cordis::App;
use dsh_llm::{CallConfig, ContentBlock, FinishReason, LLM, LlmFailure, Message, ModelRequest, StreamChunk};

use super::Check;
use crate::app::mount;
use crate::run::model::Model;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// More is not needed to see that something answers.
const MAX_TOKENS: u64 = 16;

/// Asks for one word.
pub(super) async fn answers() -> Check {
    let mend = "look at the lines `key` and `server`, and at the connection";
    match Model::chosen(None, None) {
        Ok(model) if !model.is_scripted() => {
            let start = Instant::now();
            let asked = tokio::time::timeout(PATIENCE, ask(&model)).await;
            match asked {
                Ok(Ok(None)) => {
                    Check::ok("answer", format!("{} after {} ms", model.name, start.elapsed().as_millis()))
                }
                Ok(Ok(Some(LlmFailure { code, message, .. }))) => {
                    Check::fail("answer", format!("{code}: {message}"), mend)
                }
                Ok(Err(error)) => Check::fail("answer", format!("{error:#}"), mend),
                Err(_) => Check::fail("answer", format!("none within {} s", PATIENCE.as_secs()), mend),
            }
        }
        _ => Check::missing("answer", "nobody was asked: there is no key", "see the line `key`"),
    }
}

/// What the model failed with, if it did.
async fn ask(model: &Model) -> anyhow::Result<Option<LlmFailure>> {
    let app = App::new()?;
    mount(&app, dsh_llm::plugin(), ()).await?;
    mount(&app, dsh_llm_deepseek::plugin(), dsh_llm_deepseek::Config::default()).await?;
    let llm = app.get(LLM).context("no plugin provides the models")?;
    let question = Message::user(vec![ContentBlock::text("Answer with the one word: yes")]);
    let config = CallConfig { max_tokens: Some(MAX_TOKENS), ..CallConfig::new(&model.provider, &model.name) };
    let mut answer = llm.get()?.stream(ModelRequest::new(config, [Arc::new(question)]));
    let mut failure = None;
    while let Some(chunk) = answer.next().await {
        match chunk {
            Ok(StreamChunk::Finish { reason: FinishReason::Error { failure: error }, .. }) => {
                failure = Some(error)
            }
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
    }
    app.shutdown().await;
    Ok(failure)
}
