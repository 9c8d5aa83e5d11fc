//! Nothing is made ahead of the reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dsh_llm::STREAM;

use crate::fixture::{Acts, Fixture, delta, passing};

const PIECES: u64 = 1000;

/// Makes pieces as fast as they are taken, and counts those that it has begun to send.
fn fast(made: &Arc<AtomicU64>) -> Acts {
    let made = made.clone();
    Acts::new(move |mut out| {
        let made = made.clone();
        async move {
            for piece in 0..PIECES {
                made.fetch_add(1, Ordering::SeqCst);
                out.send(delta(piece.to_string())).await;
            }
            Ok(())
        }
    })
}

// spec: llm/S38
#[tokio::test]
async fn an_adapter_that_could_send_a_thousand_pieces_is_never_ahead_of_its_reader() {
    let (fixture, made) = (Fixture::new().await, Arc::default());
    fixture.llm.register(&fixture.app, ["acme"], fast(&made)).unwrap();
    let mut stream = fixture.ask("acme");
    for piece in 0..PIECES {
        assert_eq!(made.load(Ordering::SeqCst), piece, "one is made when it is read");
        assert_eq!(stream.next().await.unwrap().unwrap(), delta(piece.to_string()));
        tokio::task::yield_now().await;
    }
    assert!(stream.next().await.is_none());
}

// spec: llm/S38
#[tokio::test]
async fn each_listener_that_reads_holds_one_piece_at_most() {
    const LISTENERS: u64 = 3;
    let (fixture, made) = (Fixture::new().await, Arc::default());
    fixture.llm.register(&fixture.app, ["acme"], fast(&made)).unwrap();
    for _ in 0..LISTENERS {
        fixture.app.on(STREAM).run(passing).unwrap();
    }
    let mut stream = fixture.ask("acme");
    for piece in 0..PIECES {
        assert_eq!(stream.next().await.unwrap().unwrap(), delta(piece.to_string()));
        assert!(made.load(Ordering::SeqCst) <= piece + 1);
    }
    assert!(stream.next().await.is_none());
}

// spec: llm/S38
#[tokio::test(start_paused = true)]
async fn sending_goes_on_until_the_piece_was_taken_however_often_it_is_polled() {
    let (fixture, sent) = (Fixture::new().await, Arc::new(AtomicU64::new(0)));
    let counted = sent.clone();
    let acts = Acts::new(move |mut out| {
        let counted = counted.clone();
        async move {
            let task = tokio::spawn(async move {
                for piece in 0..20 {
                    let mut sending = Box::pin(out.send(delta(piece.to_string())));
                    while tokio::time::timeout(Duration::from_millis(1), &mut sending).await.is_err() {}
                    counted.fetch_add(1, Ordering::SeqCst);
                }
            });
            task.await.map_err(|_| dsh_llm::LlmError::new("UNKNOWN", "the task failed"))
        }
    });
    fixture.llm.register(&fixture.app, ["acme"], acts).unwrap();
    let mut stream = fixture.ask("acme");
    for taken in 1..=20 {
        stream.next().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(sent.load(Ordering::SeqCst), taken);
    }
    assert!(stream.next().await.is_none());
}
