//! How the pieces of an answer get from who makes them to who reads them: one at a time, with nothing in between.
//!
//! **Invariants**
//! 1. A piece is taken once, in the order in which it was sent. [`ChunkSink::send`] ends when its piece was taken, so
//!    whoever makes pieces is never ahead of whoever reads them.
//! 2. The reader drives what sends to it. A sender that is polled by the reader's own poll is not woken, it is polled with
//!    the next read; every other one is.
//! 3. When nobody reads any more, sending ends at once: nobody waits for a reader that is gone.
//! 4. Wakers are called and pieces are dropped without the lock.

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
    /// How many pieces were taken.
    taken: u64,
    /// How many finishes were sent.
    finishes: u64,
    /// Those that wait for the place, or for their piece to be taken.
    senders: Vec<Sender>,
    next_ticket: u64,
    /// Present while the reader waits.
    reader: Option<Waker>,
    /// Whether the reader is polling what sends to it.
    is_driving: bool,
    is_closed: bool,
}

/// One suspended [`ChunkSink::send`].
#[derive(Debug)]
struct Sender {
    ticket: u64,
    waker: Waker,
    /// Whether the reader's own poll has polled it.
    is_driven: bool,
}

/// The future of [`ChunkSink::send`].
struct Sending<'a> {
    sink: &'a ChunkSink,
    /// None once it has the place.
    chunk: Option<StreamChunk>,
    /// How many pieces had been taken when it got the place.
    placed_at: u64,
    ticket: Option<u64>,
}

impl ChunkSink {
    /// Hands a piece on and waits until it was taken. When nobody reads any more it ends at once, and the piece is lost.
    ///
    /// # Cancel safety
    /// A piece whose sending is dropped was handed on, or not, but never in part.
    pub fn send(&mut self, chunk: StreamChunk) -> impl Future<Output = ()> + Send {
        // No `async fn`: it would hold the piece twice.
        Sending { sink: self, chunk: Some(chunk), placed_at: 0, ticket: None }
    }

    /// Whether nobody reads any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.slot.lock().is_closed
    }

    /// How many finishes were sent.
    pub(crate) fn finishes(&self) -> u64 {
        self.slot.lock().finishes
    }

    /// Takes the piece that is there. Without one, the reader is going to poll what sends if `drives`.
    fn take(&self, cx: &mut Context<'_>, drives: bool) -> Option<StreamChunk> {
        let mut slot = self.slot.lock();
        let reader = slot.reader.take();
        slot.is_driving = slot.chunk.is_none() && drives;
        let chunk = slot.chunk.take();
        let mut woken = Vec::new();
        if chunk.is_some() {
            slot.taken += 1;
            let others = slot
                .senders
                .iter()
                .filter(|sender| !(sender.is_driven && sender.waker.will_wake(cx.waker())));
            woken.extend(others.map(|sender| sender.waker.clone()));
        }
        drop(slot);
        drop(reader);
        for sender in woken {
            sender.wake();
        }
        chunk
    }

    /// Remembers who is to be woken by the next piece, unless there is one.
    fn wait(&self, cx: &mut Context<'_>) -> bool {
        let mut slot = self.slot.lock();
        slot.is_driving = false;
        if slot.chunk.is_some() {
            return false;
        }
        let old = slot.reader.replace(cx.waker().clone());
        drop(slot);
        drop(old);
        true
    }

    /// Ends all sending.
    fn close(&self) {
        let mut slot = self.slot.lock();
        slot.is_closed = true;
        let (chunk, senders, reader) =
            (slot.chunk.take(), std::mem::take(&mut slot.senders), slot.reader.take());
        drop(slot);
        drop((chunk, reader));
        for sender in senders {
            sender.waker.wake();
        }
    }
}

impl Future for Sending<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut slot = this.sink.slot.lock();
        if slot.is_closed || (this.chunk.is_none() && slot.taken > this.placed_at) {
            return Poll::Ready(());
        }
        let mut reader = None;
        if this.chunk.is_some() && slot.chunk.is_none() {
            slot.finishes += u64::from(matches!(this.chunk, Some(StreamChunk::Finish { .. })));
            slot.chunk = this.chunk.take();
            this.placed_at = slot.taken;
            reader = slot.reader.take();
        }
        let old = slot.register(&mut this.ticket, cx.waker());
        drop(slot);
        drop(old);
        if let Some(reader) = reader {
            reader.wake();
        }
        Poll::Pending
    }
}

impl Slot {
    /// Remembers whom to wake when the place is free again; gives the waker that is no longer needed.
    fn register(&mut self, ticket: &mut Option<u64>, waker: &Waker) -> Option<Waker> {
        let is_driven = self.is_driving;
        if let Some(sender) = self.senders.iter_mut().find(|sender| Some(sender.ticket) == *ticket) {
            sender.is_driven = is_driven;
            let is_other = !sender.waker.will_wake(waker);
            return is_other.then(|| std::mem::replace(&mut sender.waker, waker.clone()));
        }
        let new = self.next_ticket;
        self.next_ticket += 1;
        *ticket = Some(new);
        self.senders.push(Sender { ticket: new, waker: waker.clone(), is_driven });
        None
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut slot = self.sink.slot.lock();
        let at = slot.senders.iter().position(|sender| sender.ticket == ticket);
        let gone = at.map(|at| slot.senders.swap_remove(at));
        drop(slot);
        drop(gone);
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
    pub(crate) async fn next(&mut self) -> Option<StreamChunk> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<StreamChunk>> {
        loop {
            if let Some(chunk) = self.sink.take(cx, self.run.is_some()) {
                return Poll::Ready(Some(chunk));
            }
            let Some(run) = &mut self.run else {
                self.sink.close();
                return Poll::Ready(None);
            };
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

impl<F: Future> Drop for Source<F> {
    fn drop(&mut self) {
        self.run = None;
        self.sink.close();
    }
}
