//! Pieces get from those who send to the one who reads: none is lost, none comes twice, and nobody is left waiting.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use dsh_llm::testing::collected;
use dsh_llm::{ChunkSink, LlmError, STREAM, StreamChunk};
use futures_util::stream::{FuturesUnordered, StreamExt};
use parking_lot::Mutex;
use proptest::prelude::*;

use crate::fixture::{Acts, Fixture, delta, passing, short};

async fn acting<Fut>(act: impl Fn(ChunkSink) -> Fut + Send + Sync + 'static) -> Fixture
where
    Fut: Future<Output = Result<(), LlmError>> + Send + 'static,
{
    let fixture = Fixture::new().await;
    fixture.llm.register(&fixture.app, ["acme"], Acts::new(act)).unwrap();
    fixture
}

/// Everything that is sent, or a failure after a while of the paused clock: somebody was not woken.
async fn all(fixture: &Fixture) -> Vec<String> {
    let read = collected(fixture.ask("acme"));
    let chunks = tokio::time::timeout(Duration::from_secs(60), read).await.expect("somebody was not woken");
    short(&chunks.unwrap())
}

fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    let waker = std::task::Waker::noop();
    future.as_mut().poll(&mut std::task::Context::from_waker(waker))
}

#[tokio::test(start_paused = true)]
async fn a_sender_may_move_to_another_task() {
    for listeners in 0..3 {
        let fixture = acting(async |mut out: ChunkSink| {
            let task = tokio::spawn(async move {
                for piece in 0..100 {
                    out.send(delta(piece.to_string())).await;
                }
            });
            task.await.unwrap();
            Ok(())
        })
        .await;
        for _ in 0..listeners {
            fixture.app.on(STREAM).run(passing).unwrap();
        }
        assert_eq!(all(&fixture).await, (0..100).map(|piece| piece.to_string()).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_on_another_thread_loses_nothing() {
    let fixture = acting(async |mut out: ChunkSink| {
        let task = tokio::spawn(async move {
            for piece in 0..2000 {
                out.send(delta(piece.to_string())).await;
            }
        });
        task.await.unwrap();
        Ok(())
    })
    .await;
    fixture.app.on(STREAM).run(passing).unwrap();
    let read = tokio::spawn(collected(fixture.ask("acme")));
    let chunks = tokio::time::timeout(Duration::from_secs(60), read).await.expect("somebody was not woken");
    let words = short(&chunks.unwrap().unwrap());
    assert_eq!(words, (0..2000).map(|piece| piece.to_string()).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_sender_and_the_reader_may_share_a_task_side_by_side() {
    // The sink leaves the call and is polled beside the reader, before it and behind it.
    for sender_first in [true, false] {
        let place: Arc<Mutex<Option<ChunkSink>>> = Arc::default();
        let put = place.clone();
        let fixture = acting(move |out| {
            *put.lock() = Some(out);
            async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            }
        })
        .await;
        let mut stream = fixture.ask("acme");
        assert!(poll_once(pin!(stream.next())).is_pending());
        let mut out = place.lock().take().unwrap();
        let sends = async {
            for piece in 0..10 {
                out.send(delta(piece.to_string())).await;
            }
        };
        let reads = async {
            let mut words = Vec::new();
            while let Some(chunk) = stream.next().await {
                words.push(chunk.unwrap());
            }
            short(&words)
        };
        let both = async {
            match sender_first {
                true => tokio::join!(biased; sends, reads).1,
                false => tokio::join!(biased; reads, sends).0,
            }
        };
        let start = tokio::time::Instant::now();
        let words =
            tokio::time::timeout(Duration::from_secs(60), both).await.expect("somebody was not woken");
        assert_eq!(words, (0..10).map(|piece| piece.to_string()).collect::<Vec<_>>());
        assert_eq!(start.elapsed(), Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn sending_ends_when_the_piece_was_taken_even_if_the_reader_does_not_read_on() {
    let place: Arc<Mutex<Option<ChunkSink>>> = Arc::default();
    let put = place.clone();
    let fixture = acting(move |out| {
        *put.lock() = Some(out);
        std::future::pending()
    })
    .await;
    let mut stream = fixture.ask("acme");
    assert!(poll_once(pin!(stream.next())).is_pending());
    let mut out = place.lock().take().unwrap();
    let sends = async {
        out.send(delta("a")).await;
        tokio::time::Instant::now()
    };
    let start = tokio::time::Instant::now();
    let reads = async {
        stream.next().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_secs(3600)).await;
    };
    let (sent, ()) = tokio::join!(sends, reads);
    assert_eq!(sent, start);
}

#[tokio::test(start_paused = true)]
async fn senders_around_one_place_take_turns() {
    let fixture = acting(async |out: ChunkSink| {
        let mut sends = FuturesUnordered::new();
        for sender in 0..5 {
            let mut out = out.clone();
            sends.push(async move {
                for piece in 0..20 {
                    out.send(delta(format!("{sender}.{piece}"))).await;
                }
            });
        }
        while sends.next().await.is_some() {}
        Ok(())
    })
    .await;
    fixture.app.on(STREAM).run(passing).unwrap();
    let words = all(&fixture).await;
    assert_eq!(words.len(), 100);
    for sender in 0..5 {
        let of = format!("{sender}.");
        let own: Vec<&String> = words.iter().filter(|word| word.starts_with(&of)).collect();
        let expected: Vec<String> = (0..20).map(|piece| format!("{sender}.{piece}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_sending_that_is_dropped_has_handed_its_piece_on_or_not() {
    let fixture = acting(async |out: ChunkSink| {
        let (mut first, mut second, mut third) = (out.clone(), out.clone(), out.clone());
        {
            // The first one has the place, the second one waits for it; both are dropped.
            let mut placed = Box::pin(first.send(delta("placed")));
            let mut waiting = Box::pin(second.send(delta("waiting")));
            assert!(poll_once(placed.as_mut()).is_pending());
            assert!(poll_once(waiting.as_mut()).is_pending());
        }
        third.send(delta("next")).await;
        // Nothing is sent that was never polled.
        drop(third.send(delta("never")));
        Ok(())
    })
    .await;
    assert_eq!(all(&fixture).await, ["placed", "next"]);
}

#[tokio::test(start_paused = true)]
async fn sending_races_a_timer_again_and_again() {
    let fixture = acting(async |mut out: ChunkSink| {
        for piece in 0..50 {
            let mut ticks = 0;
            let mut sending = Box::pin(out.send(delta(piece.to_string())));
            loop {
                tokio::select! {
                    biased;
                    () = tokio::time::sleep(Duration::from_millis(1)), if ticks < 3 => ticks += 1,
                    () = &mut sending => break,
                }
            }
        }
        Ok(())
    })
    .await;
    fixture.app.on(STREAM).run(passing).unwrap();
    let mut stream = fixture.ask("acme");
    for piece in 0..50 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(stream.next().await.unwrap().unwrap(), delta(piece.to_string()));
    }
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_next_of_a_stream_may_be_dropped_and_asked_again() {
    let fixture = acting(async |mut out: ChunkSink| {
        for piece in 0..20 {
            tokio::time::sleep(Duration::from_millis(3)).await;
            out.send(delta(piece.to_string())).await;
        }
        Ok(())
    })
    .await;
    fixture.app.on(STREAM).run(passing).unwrap();
    let (mut stream, mut words) = (fixture.ask("acme"), Vec::new());
    loop {
        match tokio::time::timeout(Duration::from_millis(2), stream.next()).await {
            Ok(Some(chunk)) => words.push(chunk.unwrap()),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    assert_eq!(short(&words), (0..20).map(|piece| piece.to_string()).collect::<Vec<_>>());
}

// spec: llm/S40
#[tokio::test(start_paused = true)]
async fn a_sender_elsewhere_does_not_wait_for_a_reader_that_is_gone() {
    let sent: Arc<AtomicU64> = Arc::default();
    let (counted, place) = (sent.clone(), Arc::new(Mutex::new(None)));
    let put = place.clone();
    let fixture = acting(move |mut out: ChunkSink| {
        let counted = counted.clone();
        *put.lock() = Some(tokio::spawn(async move {
            while !out.is_closed() {
                out.send(delta("x")).await;
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }));
        std::future::pending()
    })
    .await;
    let mut stream = fixture.ask("acme");
    for _ in 0..3 {
        stream.next().await.unwrap().unwrap();
    }
    tokio::task::yield_now().await;
    assert_eq!(sent.load(Ordering::SeqCst), 3, "the fourth waits");
    drop(stream);
    let task = place.lock().take().unwrap();
    tokio::time::timeout(Duration::from_secs(60), task).await.expect("somebody was not woken").unwrap();
}

/// One sender: how it waits before each of its pieces.
type Plan = Vec<u8>;

async fn follow(sender: usize, plan: Plan, mut out: ChunkSink) {
    for (piece, pause) in plan.into_iter().enumerate() {
        match pause {
            0 => {}
            1 => tokio::task::yield_now().await,
            pause => tokio::time::sleep(Duration::from_millis(u64::from(pause))).await,
        }
        let chunk = StreamChunk::TextDelta { index: sender as u64, text: piece.to_string() };
        out.send(chunk).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever sends from wherever, through however many listeners, to a reader of any pace.
    #[test]
    fn each_senders_pieces_arrive_once_and_in_order(
        plans in prop::collection::vec(prop::collection::vec(0u8..4, 0..12), 1..5),
        place in 0u8..3,
        listeners in 0usize..4,
        paces in prop::collection::vec(0u64..3, 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let read = runtime.block_on(async {
            let sent = plans.clone();
            let fixture = acting(move |out: ChunkSink| {
                let sent = sent.clone();
                async move {
                    let sends = sent.into_iter().enumerate().map(|(at, plan)| follow(at, plan, out.clone()));
                    match place {
                        0 => for send in sends { send.await },
                        1 => {
                            let mut sends: FuturesUnordered<_> = sends.collect();
                            while sends.next().await.is_some() {}
                        }
                        _ => {
                            let tasks: Vec<_> = sends.map(tokio::spawn).collect();
                            for task in tasks { task.await.unwrap() }
                        }
                    }
                    Ok(())
                }
            }).await;
            for _ in 0..listeners {
                fixture.app.on(STREAM).run(passing).unwrap();
            }
            let (mut stream, mut read) = (fixture.ask("acme"), vec![Vec::new(); plans.len()]);
            let mut paces = paces.iter().cycle();
            let reading = async {
                while let Some(chunk) = stream.next().await {
                    let StreamChunk::TextDelta { index, text } = chunk.unwrap() else { panic!() };
                    read[index as usize].push(text);
                    tokio::time::sleep(Duration::from_millis(*paces.next().unwrap())).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), reading).await.expect("somebody was not woken");
            read
        });
        let expected: Vec<Vec<String>> =
            plans.iter().map(|plan| (0..plan.len()).map(|piece| piece.to_string()).collect()).collect();
        prop_assert_eq!(read, expected);
    }
}
