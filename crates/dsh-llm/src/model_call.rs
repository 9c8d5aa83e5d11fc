//! A call of a model on its way through the listeners.

use std::fmt;
use std::sync::Arc;

use cordis::{BoxError, Next, Run};
use tokio_util::sync::CancellationToken;

use crate::chunk::StreamChunk;
use crate::pinned::Pinned;
use crate::request::ModelRequest;
use crate::sink::{ChunkSink, Source};

/// What a listener of [`STREAM`](crate::STREAM), or the rest below it, comes to: an error is raised to whoever reads the
/// stream. A failure of the model is none, it is the finish of the answer.
pub type Outcome = Result<(), BoxError>;

/// One call of a model; see [`STREAM`](crate::STREAM).
#[derive(Debug)]
pub struct ModelCall {
    /// What is asked. Another provider or model in it reroutes the call.
    pub request: ModelRequest,
    /// Where the answer goes.
    pub out: ChunkSink,
    /// The model that the call was prepared for.
    pub(crate) pinned: Option<Arc<Pinned>>,
    /// The caller's own cancellation, whatever the request says by now.
    pub(crate) caller: CancellationToken,
}

impl ModelCall {
    /// Runs what is below a listener, whose pieces the listener reads and hands on, or not.
    ///
    /// They no longer go to [`out`](Self::out): take a clone of it first.
    ///
    /// # Examples
    /// ```
    /// # use cordis::Next;
    /// # use dsh_llm::{ModelCall, Outcome};
    /// /// Counts the pieces.
    /// async fn counted(call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>) -> Outcome {
    ///     let mut out = call.out.clone();
    ///     let mut below = call.below(next);
    ///     let mut count = 0;
    ///     while let Some(chunk) = below.next().await {
    ///         count += 1;
    ///         out.send(chunk).await;
    ///     }
    ///     println!("{count} pieces");
    ///     below.outcome()
    /// }
    /// ```
    pub fn below<'a>(&'a mut self, next: Next<'a, ModelCall, Outcome>) -> Below<'a> {
        Below {
            source: Source::new(|sink| {
                self.out = sink;
                next.run(self)
            }),
        }
    }
}

/// The answer of what is below a listener.
#[must_use = "nothing below runs unless its pieces are read"]
pub struct Below<'a> {
    source: Source<Run<'a, ModelCall, Outcome>>,
}

impl Below<'_> {
    /// The next piece; none when all is over.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<StreamChunk> {
        self.source.next().await
    }

    /// What came of it; fine as long as it is not over. What is not over by then is dropped.
    pub fn outcome(mut self) -> Outcome {
        self.source.outcome().unwrap_or(Ok(()))
    }
}

impl fmt::Debug for Below<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Below").finish_non_exhaustive()
    }
}
