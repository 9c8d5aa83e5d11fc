//! Bodies under way: they run at once, and are taken back in the order in which they were started.
//!
//! Used by batches and by lanes, which have the same shape: policies are asked one call at a time, bodies overlap, and
//! results are committed in order. Nothing is spawned: bodies are polled by whoever owns the flights, while it waits for
//! something else ([`Flights::beside`]) or for them ([`Flights::land`]).

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll};

use cordis::{BoxFuture, Context};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::pipeline::{self, Station};
use crate::runtime::Shared;

/// Bodies that were started, with what their owner keeps for each.
pub(crate) struct Flights<T> {
    running: FuturesUnordered<BoxFuture<'static, (u64, Station)>>,
    started: VecDeque<Flight<T>>,
    /// The number of the first one of `started`.
    first: u64,
}

struct Flight<T> {
    of: T,
    landed: Option<Station>,
}

impl<T> Flights<T> {
    pub(crate) fn new() -> Self {
        Self { running: FuturesUnordered::new(), started: VecDeque::new(), first: 0 }
    }

    /// Whether nothing is under way: all that was started has been taken back.
    pub(crate) fn is_empty(&self) -> bool {
        self.started.is_empty()
    }

    /// How many bodies have not come to their end.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// Starts a body. It is first polled by the next wait.
    pub(crate) fn start(&mut self, shared: &Arc<Shared>, ctx: &Context, of: T, station: Station) {
        let number = self.first + self.started.len() as u64;
        let (shared, ctx) = (Arc::clone(shared), ctx.clone());
        self.running.push(Box::pin(async move {
            let dispatched = pipeline::dispatch(&shared, &ctx, station).await;
            (number, dispatched)
        }));
        self.started.push_back(Flight { of, landed: None });
    }

    /// Takes back the oldest one, if its body has come to its end.
    pub(crate) fn take_first(&mut self) -> Option<(T, Station)> {
        let first = self.started.pop_front()?;
        match first.landed {
            Some(station) => {
                self.first += 1;
                Some((first.of, station))
            }
            None => {
                self.started.push_front(first);
                None
            }
        }
    }

    /// Waits until a body comes to its end; without end if none runs.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn land(&mut self) {
        std::future::poll_fn(|cx| self.poll(cx)).await;
    }

    /// Does something else while the bodies go on.
    pub(crate) async fn beside<R>(&mut self, work: impl Future<Output = R>) -> R {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| {
            let _ = self.poll(cx);
            work.as_mut().poll(cx)
        })
        .await
    }

    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<()> {
        let mut landed = Poll::Pending;
        while let Poll::Ready(Some((number, station))) = self.running.poll_next_unpin(cx) {
            let place = usize::try_from(number - self.first).ok();
            if let Some(flight) = place.and_then(|place| self.started.get_mut(place)) {
                flight.landed = Some(station);
            }
            landed = Poll::Ready(());
        }
        landed
    }
}
