//! Work on its way to a thread: what waits for its end, and what it shares with the thread.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Cx, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{NoThread, Pool};

/// Work on its way to a thread, or on one. Ends with what it gave, or with why it was never begun.
///
/// # Cancel safety
/// Dropping it withdraws work that has not begun, and cancels work that has.
pub(crate) struct Job<T> {
    pub(super) result: oneshot::Receiver<Result<T, NotBegun>>,
    pub(super) place: u64,
    pub(super) pool: Arc<Pool>,
    pub(super) link: Arc<Link>,
}

/// Why work was never begun.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// It was cancelled, or withdrawn, or the threads are no more.
    Cancelled,
    /// Nobody can do it.
    NoThread(NoThread),
}

/// What a job and its thread share.
pub(crate) struct Link {
    progress: Mutex<Progress>,
    /// Asks the work to end.
    cancellation: CancellationToken,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Waiting,
    Begun,
    Over,
}

impl Link {
    /// For work that `cancellation` asks to end, and keeps from being begun.
    pub(crate) fn new(cancellation: CancellationToken) -> Arc<Self> {
        Arc::new(Self { progress: Mutex::default(), cancellation })
    }

    /// Whether the work is to be begun.
    pub(super) fn begin(&self) -> bool {
        let mut progress = self.progress.lock();
        let begins = *progress == Progress::Waiting && !self.cancellation.is_cancelled();
        if begins {
            *progress = Progress::Begun;
        }
        begins
    }

    pub(super) fn end(&self) {
        *self.progress.lock() = Progress::Over;
    }

    /// Keeps the work from being begun, if it has not.
    fn withdraw(&self) -> bool {
        let mut progress = self.progress.lock();
        let waits = *progress == Progress::Waiting;
        if waits {
            *progress = Progress::Over;
        }
        waits
    }

    fn is_begun(&self) -> bool {
        *self.progress.lock() == Progress::Begun
    }
}

impl<T> Job<T> {
    /// Keeps the work from being begun. False if it has begun, or is over.
    pub(crate) fn withdraw(&self) -> bool {
        let withdrawn = self.link.withdraw();
        if withdrawn {
            self.pool.withdraw(self.place);
        }
        withdrawn
    }

    /// Gives up on work that was told to stop and does not: its thread is not counted on any more.
    pub(crate) fn let_go(&self) {
        self.pool.let_go(self.place);
    }

    /// Whether the work waits and every thread has other work.
    pub(crate) fn is_short_of_threads(&self) -> bool {
        self.pool.is_short_of(self.place)
    }

    /// Gives up on what nobody waits for any more and what has had this much time to stop.
    pub(crate) fn let_go_of_left(&self, grace: Duration) {
        self.pool.let_go_of_left(grace);
    }
}

impl<T> Future for Job<T> {
    type Output = Result<T, NotBegun>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.result).poll(cx).map(|ended| ended.unwrap_or(Err(NotBegun::Cancelled)))
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        if !self.withdraw() && self.link.is_begun() {
            self.link.cancellation.cancel();
            self.pool.leave(self.place);
        }
    }
}
