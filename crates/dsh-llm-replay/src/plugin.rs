//! The plugin.

use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxError, Context, Handle, Next, Plugin, define};
use dsh_llm::{FinishReason, LLM, Llm, LlmFailure, ModelCall, Outcome, STREAM, StreamChunk, code};

use crate::adapter::Served;
use crate::config::{Config, ModelConfig, ProviderConfig};
use crate::keys::REPLAY;
use crate::play::Player;
use crate::replay::Replay;

/// The provider and the model that the embedded script is served as.
const SCRIPTED: &str = "scripted";

cordis::catalog!(plugin);

/// Plays a script or a recording, as the models of the configured providers, or in the place of every model. Provides
/// [`REPLAY`].
pub fn plugin() -> impl Plugin<Config = Config> {
    define("llm-replay")
        .needs(LLM)
        .provides(REPLAY)
        .validate(|config: &Config| Ok(config.check()?))
        .run(apply)
}

async fn apply(ctx: &Context, llm: Handle<Llm>, config: &Config) -> Result<(), BoxError> {
    let config = config.clone().with_environment(|name| std::env::var_os(name));
    let replay = Arc::new(Replay::load(&config)?);
    ctx.provide(REPLAY, replay.clone())?;
    let pace = Duration::from_millis(config.pace_ms);
    let mut providers = config.providers;
    if providers.is_empty() && config.file.is_none() {
        providers.push(embedded());
    }
    if providers.is_empty() {
        ctx.on(STREAM).with((replay, pace)).run(answer)?;
        return Ok(());
    }
    let ids: Vec<String> = providers.iter().map(|provider| provider.id.clone()).collect();
    llm.get()?.register(ctx, ids, Served { replay, providers, pace })?;
    Ok(())
}

fn embedded() -> ProviderConfig {
    ProviderConfig {
        id: SCRIPTED.to_owned(),
        name: Some("Scripted".to_owned()),
        models: vec![ModelConfig { name: Some("Scripted".to_owned()), ..ModelConfig::unlisted(SCRIPTED) }],
        retry_policy: dsh_llm::RetryPolicy::default(),
    }
}

/// Answers every request by itself; nobody below is asked.
async fn answer(
    (replay, pace): &(Arc<Replay>, Duration),
    call: &mut ModelCall,
    _next: Next<'_, ModelCall, Outcome>,
) -> Outcome {
    let ModelCall { request, out, .. } = call;
    let cancellation = request.cancellation.clone();
    let mut player = Player::new(out, *pace);
    tokio::select! {
        biased;
        () = cancellation.cancelled() => {}
        played = player.play(replay, request) => return Ok(played?),
    }
    if !player.is_finished {
        let failure = LlmFailure::new(code::ABORTED, "the caller cancelled the call of the model");
        let reason = FinishReason::Aborted { failure };
        call.out.send(StreamChunk::Finish { reason, replay_state: None }).await;
    }
    Ok(())
}
