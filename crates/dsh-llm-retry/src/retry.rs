//! What happens around a failure: a further request, where the policy allows one.

use std::time::Duration;

use cordis::{BoxError, Context, Next, State};
use dsh_agent::{Recovered, Recovery, RequestError};
use dsh_llm::{Backoff, LlmFailure, RetryPolicy};
use dsh_session::{AppendError, NewEvent, OpenTurn, Payload};
use uuid::Uuid;

use crate::chance::Chance;
use crate::history::History;
use crate::policy_key::policy_key;
use crate::record::{LlmRetry, LlmRetryStarted, RetryMode};

pub(crate) struct Retries {
    /// The plugin's own: its unloading ends waits.
    ctx: Context,
    chance: Chance,
}

/// A retry that is logged.
struct Scheduled {
    /// The turn in which it is.
    turn: OpenTurn,
    started: LlmRetryStarted,
    delay: Duration,
}

/// How a wait ended.
enum Waited {
    ToTheEnd,
    Cancelled,
    Unloaded,
}

/// The listener of `agent/request-error`.
pub(crate) async fn recover(
    retries: &Retries,
    error: &mut RequestError,
    next: Next<'_, RequestError, Recovered>,
) -> Recovered {
    match error.retry_policy.clone() {
        None => next.run(error).await,
        Some(policy @ RetryPolicy::Normal { .. }) => {
            let Some(scheduled) = retries.schedule(error, &policy)? else { return next.run(error).await };
            match retries.wait(error, scheduled.delay).await {
                Waited::ToTheEnd => start(error, scheduled),
                Waited::Cancelled => Ok(Recovery::None),
                Waited::Unloaded => next.run(error).await,
            }
        }
        Some(policy @ RetryPolicy::Always { .. }) => {
            let recovered = next.run(error).await;
            retries.after_the_others(error, &policy, recovered).await
        }
    }
}

impl Retries {
    pub(crate) fn new(ctx: Context) -> Self {
        Self { ctx, chance: Chance::new() }
    }

    async fn after_the_others(
        &self,
        error: &RequestError,
        policy: &RetryPolicy,
        recovered: Recovered,
    ) -> Recovered {
        if let Err(reason) = &recovered {
            tracing::warn!(
                agent = error.agent.id().as_str(),
                error = %reason,
                "recovering from a failed request failed; the request is made again all the same"
            );
        }
        if error.cancellation.is_cancelled() {
            return Ok(Recovery::None);
        }
        if let Ok(Recovery::Retry) = recovered {
            return Ok(Recovery::Retry);
        }
        let Some(scheduled) = self.schedule(error, policy)? else { return Ok(Recovery::None) };
        match self.wait(error, scheduled.delay).await {
            Waited::ToTheEnd => start(error, scheduled),
            Waited::Cancelled | Waited::Unloaded => Ok(Recovery::None),
        }
    }

    /// Logs the next retry, if there may be one.
    fn schedule(&self, error: &RequestError, policy: &RetryPolicy) -> Result<Option<Scheduled>, BoxError> {
        if error.cancellation.is_cancelled() || self.is_unloading() || !allows(policy, &error.failure) {
            return Ok(None);
        }
        let session = error.agent.session();
        let key = policy_key(policy);
        let Some(turn) = session.open_turn() else { return Ok(None) };
        let Some(before) = History::before(error, &session.events(), &key) else { return Ok(None) };
        let (mode, max_retries) = match policy {
            RetryPolicy::Normal { max_retries, .. } => (RetryMode::Normal, Some(*max_retries)),
            RetryPolicy::Always { .. } => (RetryMode::Always, None),
        };
        if max_retries.is_some_and(|max| before.retries >= max) {
            return Ok(None);
        }
        let retry = before.retries.saturating_add(1);
        let delay_ms = delay_ms(policy.backoff(), retry, self.chance.draw(), hint(&error.failure));
        let record = LlmRetry {
            retry_id: before.retry_id.unwrap_or_else(|| Uuid::new_v4().to_string()),
            turn: error.turn,
            step: error.step,
            provider: error.provider.clone(),
            mode,
            policy_key: key,
            retry,
            max_retries,
            delay_ms,
            failure: LlmFailure { provider_retry_after_ms: hint(&error.failure), ..error.failure.clone() },
        };
        if !log(error, turn, &record)? {
            return Ok(None);
        }
        tracing::info!(
            agent = error.agent.id().as_str(),
            provider = error.provider,
            code = error.failure.code,
            retry,
            max_retries,
            delay_ms,
            "the request to the model failed and is made again after the delay"
        );
        let delay = Duration::try_from_secs_f64(delay_ms / 1_000.0)?;
        let LlmRetry { retry_id, turn: number, step, retry, .. } = record;
        Ok(Some(Scheduled { turn, started: LlmRetryStarted { retry_id, turn: number, step, retry }, delay }))
    }

    /// Who still has the listener calls it in vain.
    fn is_unloading(&self) -> bool {
        match self.ctx.fiber().state() {
            State::Pending | State::Loading | State::Active => false,
            State::Failed | State::Disposed | State::Unloading => true,
        }
    }

    async fn wait(&self, error: &RequestError, delay: Duration) -> Waited {
        tokio::select! {
            biased;
            () = error.cancellation.cancelled() => Waited::Cancelled,
            slept = self.ctx.sleep(delay) => slept.map_or(Waited::Unloaded, |()| Waited::ToTheEnd),
        }
    }
}

/// Logs that a retry begins. The turn may have ended in the wait, by whoever did not cancel it.
fn start(error: &RequestError, scheduled: Scheduled) -> Recovered {
    let begins = log(error, scheduled.turn, &scheduled.started)?;
    Ok(if begins { Recovery::Retry } else { Recovery::None })
}

/// Whether it was logged; it is not in a turn that has ended.
fn log<P: Payload>(error: &RequestError, turn: OpenTurn, record: &P) -> Result<bool, BoxError> {
    match error.agent.session().append_to_turn(turn, NewEvent::new(record)?) {
        Ok(_) => Ok(true),
        Err(AppendError::TurnEnded { .. }) => Ok(false),
        Err(refused) => Err(refused.into()),
    }
}

/// Whether a failure is one that the policy is for.
fn allows(policy: &RetryPolicy, failure: &LlmFailure) -> bool {
    match policy {
        RetryPolicy::Normal { retryable_codes, .. } => retryable_codes.contains(&failure.code),
        RetryPolicy::Always { .. } => true,
    }
}

/// When the provider says to come back, if that can be.
fn hint(failure: &LlmFailure) -> Option<f64> {
    failure.provider_retry_after_ms.filter(|ms| ms.is_finite() && *ms > 0.0)
}

/// How long to wait: as long as the backoff says, not less than the provider does, and never longer than the longest delay.
fn delay_ms(backoff: &Backoff, retry: u32, chance: f64, hint: Option<f64>) -> f64 {
    let local = backoff.delay_ms(retry, chance);
    local.max(hint.unwrap_or(local)).min(backoff.max_delay_ms)
}

#[cfg(test)]
mod tests {
    use dsh_llm::Backoff;

    use super::delay_ms;

    // spec: cases/S6, agent-loop/S90
    #[test]
    fn a_hint_is_a_floor_below_the_longest_delay() {
        let backoff = Backoff { initial_delay_ms: 500.0, max_delay_ms: 10_000.0, jitter_ratio: 0.0 };
        let delay = |retry, hint| delay_ms(&backoff, retry, 0.5, hint);
        for (retry, hint, expected) in [
            (1, None, 500.0),
            (1, Some(2_000.0), 2_000.0),
            (3, Some(1_000.0), 2_000.0),
            (1, Some(10_000.0), 10_000.0),
            (1, Some(60_000.0), 10_000.0),
            (1, Some(1e300), 10_000.0),
            (9, Some(1.0), 10_000.0),
        ] {
            assert!((delay(retry, hint) - expected).abs() < f64::EPSILON, "retry {retry}, hint {hint:?}");
        }
    }
}
