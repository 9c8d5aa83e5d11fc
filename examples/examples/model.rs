//! A model is asked, and a listener counts the pieces of its answer. Without a key and a network: the model is a script.

use std::sync::Arc;

use cordis::{App, BoxError, Context, Next, define};
use dsh_llm::{
    CallConfig, ContentBlock, LLM, Message, ModelCall, ModelRequest, Outcome, STREAM, StreamChunk,
};

/// Says how many pieces each answer had.
async fn counter(ctx: &Context, (): (), _config: &()) -> Result<(), BoxError> {
    ctx.on(STREAM).run(async |call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
        let mut out = call.out.clone();
        let mut below = call.below(next);
        let mut pieces = 0;
        while let Some(chunk) = below.next().await {
            pieces += 1;
            out.send(chunk).await;
        }
        println!("[{pieces} pieces]");
        below.outcome()
    })?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.plugin(dsh_llm::plugin(), ())?.ready().await?;
    // With `dsh_llm_deepseek::plugin()` in its place, and a key, it is a real one: `deepseek-official`, `deepseek-v4-flash`.
    app.plugin(dsh_llm_replay::plugin(), dsh_llm_replay::Config::default())?.ready().await?;
    app.plugin(define("counter").run(counter), ())?.ready().await?;

    let llm = app.get(LLM).ok_or("no models")?;
    let question = Message::user(vec![ContentBlock::text("What is in this folder?")]);
    let request = ModelRequest::new(CallConfig::new("scripted", "scripted"), [Arc::new(question)]);
    let mut answer = llm.get()?.stream(request);
    while let Some(chunk) = answer.next().await {
        match chunk? {
            StreamChunk::TextDelta { text, .. } => print!("{text}"),
            StreamChunk::BlockEnd { block: ContentBlock::ToolCall { name, arguments, .. }, .. } => {
                println!("{name} {arguments}");
            }
            _ => {}
        }
    }
    Ok(())
}
