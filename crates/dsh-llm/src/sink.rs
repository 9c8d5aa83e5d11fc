//! How the pieces of an answer get from who makes them to who reads them: one at a time, with nothing in between.
//!
//! **Invariants**
//! 1. A piece is taken once, in the order in which it was sent. [`ChunkSink::send`] ends when its piece was taken, so
//!    whoever makes pieces is never ahead of whoever reads them.
//! 2. Wakers are called and pieces are dropped without the lock.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::chunk::StreamChunk;

/// Where the pieces of an answer go. A clone leads to the same place.
#[derive(Clone, Debug)]
pub struct ChunkSink {
    slot: Arc<Mutex<Slot>>,
}

#[derive(Debug, Default)]
struct Slot {
    chunk: Option<StreamChunk>,
    /// Counts the pieces that were taken.
    taken: u64,
    /// Whether a finish was sent.
    finished: bool,
    /// Those that wait for the place, or for their piece to be taken.
    senders: Vec<Waker>,
    reader: Option<Waker>,
}

impl ChunkSink {
    /// Hands a piece on and waits until it was taken.
    ///
    /// # Cancel safety
    /// A piece whose sending is dropped was handed on, or not, but never in part.
    pub async fn send(&mut self, chunk: StreamChunk) {
        let mut chunk = Some(chunk);
        let mut mine = None;
        poll_fn(|cx| self.poll_send(cx, &mut chunk, &mut mine)).await;
    }

    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        chunk: &mut Option<StreamChunk>,
        mine: &mut Option<u64>,
    ) -> Poll<()> {
        let mut slot = self.slot.lock();
        if let Some(mine) = *mine
            && slot.taken > mine
        {
            return Poll::Ready(());
        }
        let mut reader = None;
        if mine.is_none() && slot.chunk.is_none() {
            slot.finished |= matches!(chunk, Some(StreamChunk::Finish { .. }));
            slot.chunk = chunk.take();
            *mine = Some(slot.taken);
            // Who polls this very task looks at the place next; only another one has to be told.
            reader = slot.reader.take().filter(|reader| !reader.will_wake(cx.waker()));
        }
        if !slot.senders.iter().any(|sender| sender.will_wake(cx.waker())) {
            slot.senders.push(cx.waker().clone());
        }
        drop(slot);
        if let Some(reader) = reader {
            reader.wake();
        }
        Poll::Pending
    }

    /// Whether a finish was sent.
    pub(crate) fn is_finished(&self) -> bool {
        self.slot.lock().finished
    }

    fn take(&self, cx: &mut Context<'_>) -> Option<StreamChunk> {
        let mut slot = self.slot.lock();
        let chunk = slot.chunk.take()?;
        slot.taken += 1;
        let senders = std::mem::take(&mut slot.senders);
        drop(slot);
        for sender in senders {
            if !sender.will_wake(cx.waker()) {
                sender.wake();
            }
        }
        Some(chunk)
    }

    /// Remembers who is to be woken by the next piece, unless there is one.
    fn wait(&self, cx: &mut Context<'_>) -> bool {
        let mut slot = self.slot.lock();
        if slot.chunk.is_some() {
            return false;
        }
        let old = match &slot.reader {
            Some(reader) if reader.will_wake(cx.waker()) => None,
            Some(_) | None => slot.reader.replace(cx.waker().clone()),
        };
        drop(slot);
        drop(old);
        true
    }
}

/// Reads what a future sends, and drives it.
pub(crate) struct Source<F: Future> {
    sink: ChunkSink,
    /// None once it has ended.
    run: Option<F>,
    outcome: Option<F::Output>,
}

impl<F: Future + Unpin> Source<F> {
    /// Reads what the future that `start` gives sends to the sink that it is given.
    pub(crate) fn new(start: impl FnOnce(ChunkSink) -> F) -> Self {
        let sink = ChunkSink { slot: Arc::default() };
        let run = start(sink.clone());
        Self { sink, run: Some(run), outcome: None }
    }

    /// The next piece; none when the future has ended and all it sent was taken.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<StreamChunk>> {
        loop {
            if let Some(chunk) = self.sink.take(cx) {
                return Poll::Ready(Some(chunk));
            }
            let Some(run) = &mut self.run else { return Poll::Ready(None) };
            match Pin::new(run).poll(cx) {
                Poll::Ready(outcome) => {
                    self.run = None;
                    self.outcome = Some(outcome);
                }
                Poll::Pending if self.sink.wait(cx) => return Poll::Pending,
                Poll::Pending => {}
            }
        }
    }

    /// What the future came to, once it has ended.
    pub(crate) fn outcome(&mut self) -> Option<F::Output> {
        self.outcome.take()
    }
}
