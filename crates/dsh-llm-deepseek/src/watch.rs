//! The time limits of a call. The one of silence runs only while something is waited for, the whole one also while the reader thinks.

use std::time::Duration;

use dsh_llm::{LlmError, code};
use tokio::time::{Instant, timeout_at};

use crate::endpoint::Endpoint;

/// The limits of one call.
pub(crate) struct Watch {
    /// Who is waited for.
    endpoint: String,
    idle: Duration,
    total: Option<Duration>,
    /// When nothing has come for too long.
    idle_end: Instant,
    /// When the whole call is too long.
    total_end: Option<Instant>,
}

impl Watch {
    /// Starts now.
    pub(crate) fn start(endpoint: &Endpoint, idle: Duration, total: Option<Duration>) -> Self {
        let now = Instant::now();
        Self {
            endpoint: endpoint.to_string(),
            idle,
            total,
            idle_end: now + idle,
            total_end: total.map(|total| now + total),
        }
    }

    /// Something has come, and was taken.
    pub(crate) fn rearm(&mut self) {
        self.idle_end = Instant::now() + self.idle;
    }

    /// Waits, but not past the limits; what is there already counts.
    ///
    /// # Errors
    /// One is over.
    pub(crate) async fn limit<T>(&self, wait: impl Future<Output = T>) -> Result<T, LlmError> {
        let end = self.total_end.map_or(self.idle_end, |total| total.min(self.idle_end));
        timeout_at(end, wait).await.map_err(|_| self.over(end))
    }

    fn over(&self, end: Instant) -> LlmError {
        let message = match self.total {
            Some(total) if Some(end) == self.total_end => format!(
                "the answer of {} was not complete after {} ms: ask for less, or raise totalTimeoutMs",
                self.endpoint,
                total.as_millis()
            ),
            _ => format!(
                "nothing came from {} for {} ms, so the connection was closed: raise streamIdleTimeoutMs for a slow server",
                self.endpoint,
                self.idle.as_millis()
            ),
        };
        LlmError::new(code::TIMEOUT, message)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use std::future::pending;

    use tokio::time::sleep;

    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint::resolve(Some("http://127.0.0.1:9"), None).unwrap()
    }

    const SECOND: Duration = Duration::from_secs(1);

    // spec: llm/S68
    #[tokio::test(start_paused = true)]
    async fn each_limit_ends_a_wait_and_what_comes_starts_the_idle_time_anew() {
        let mut watch = Watch::start(&endpoint(), SECOND * 10, Some(SECOND * 25));
        for _ in 0..2 {
            watch.limit(sleep(SECOND * 9)).await.unwrap();
            watch.rearm();
        }
        let error = watch.limit(pending::<()>()).await.unwrap_err();
        assert!(error.to_string().contains("totalTimeoutMs"), "{error}");

        let watch = Watch::start(&endpoint(), SECOND * 10, None);
        watch.limit(sleep(SECOND * 9)).await.unwrap();
        let error = watch.limit(sleep(SECOND * 9)).await.unwrap_err();
        assert_eq!(error.code(), "TIMEOUT");
        assert!(error.to_string().contains("10000 ms"), "{error}");
        assert_eq!(watch.limit(async { 7 }).await.unwrap(), 7, "what is there already counts");
    }
}
