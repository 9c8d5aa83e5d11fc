//! The answer of a model as it arrives.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use cordis::{BoxError, BoxFuture, ListenerPanic};
use futures_core::Stream;
use thiserror::Error;

use crate::chunk::StreamChunk;
use crate::model_call::Outcome;
use crate::sink::{ChunkSink, Source};

/// The answer of a model as it arrives: pieces up to a finish.
///
/// A call that fails is a piece too, the finish; an error is what went wrong outside of the model, in a listener. Nothing
/// happens unless it is read, and nothing is made ahead of the reader.
///
/// # Cancel safety
/// Dropping it ends the call: the adapter's work and the listeners are dropped at their current await.
#[must_use = "a model is asked when its stream is read"]
pub struct ModelStream {
    source: Option<Source<BoxFuture<'static, Result<Outcome, ListenerPanic>>>>,
}

/// A listener of [`STREAM`](crate::STREAM) failed; what was read before stands.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// It returned an error.
    #[error("a listener of `llm/stream` failed")]
    Raised(#[source] BoxError),
    /// It panicked.
    #[error(transparent)]
    Panicked(#[from] ListenerPanic),
}

impl ModelStream {
    pub(crate) fn new(
        start: impl FnOnce(ChunkSink) -> BoxFuture<'static, Result<Outcome, ListenerPanic>>,
    ) -> Self {
        Self { source: Some(Source::new(start)) }
    }

    /// The next piece; none when the answer is over, and after an error.
    ///
    /// # Errors
    /// A listener failed.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Result<StreamChunk, StreamError>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for ModelStream {
    type Item = Result<StreamChunk, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        match source.poll_next(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(chunk)) => Poll::Ready(Some(Ok(chunk))),
            Poll::Ready(None) => {
                let outcome = source.outcome();
                self.source = None;
                Poll::Ready(match outcome {
                    Some(Ok(Ok(()))) | None => None,
                    Some(Ok(Err(raised))) => Some(Err(StreamError::Raised(raised))),
                    Some(Err(panic)) => Some(Err(panic.into())),
                })
            }
        }
    }
}

impl fmt::Debug for ModelStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelStream").field("is_over", &self.source.is_none()).finish()
    }
}
