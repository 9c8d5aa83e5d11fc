//! The caller cancels, or stops reading.

use std::sync::Arc;
use std::time::Duration;

use cordis::Next;
use dsh_llm::testing::{Answer, Gate, collected};
use dsh_llm::{ModelCall, Outcome, STREAM, code};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, delta, failure, request, short, stop};

fn hanging(gate: &Gate) -> Answer {
    Answer::new().chunks([delta("a")]).wait(gate).chunks([delta("b"), stop()])
}

// spec: llm/S39
#[tokio::test]
async fn cancelling_ends_the_answer_with_one_finish() {
    let gate = Gate::new();
    let (fixture, model) = Fixture::with([hanging(&gate)]).await;
    let request = request("acme");
    let cancellation = request.cancellation.clone();
    let mut stream = fixture.llm.stream(request);
    assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
    cancellation.cancel();
    let rest = collected(stream).await.unwrap();
    assert_eq!(short(&rest), ["aborted ABORTED"]);
    assert!(failure(&rest).message.contains("cancelled"));
    gate.open();
    tokio::task::yield_now().await;
    assert!(model.sent() <= 1, "the adapter's work is dropped");
    assert!(model.requests()[0].cancellation.is_cancelled());
}

// spec: llm/S39
#[tokio::test]
async fn a_call_that_is_cancelled_before_it_is_read_asks_nobody() {
    let (fixture, model) = Fixture::with([Answer::text("a")]).await;
    let request = request("acme");
    request.cancellation.cancel();
    assert_eq!(short(&collected(fixture.llm.stream(request)).await.unwrap()), ["aborted ABORTED"]);
    assert_eq!(model.requests().len(), 0);
}

// spec: llm/S39
#[tokio::test]
async fn a_piece_that_was_sent_before_the_cancellation_is_read_before_the_finish() {
    let gate = Gate::new();
    let (fixture, _) = Fixture::with([hanging(&gate)]).await;
    let request = request("acme");
    let cancellation = request.cancellation.clone();
    fixture
        .app
        .on(STREAM)
        .with(cancellation)
        .run(async |token: &CancellationToken, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
            let mut out = call.out.clone();
            let mut below = call.below(next);
            while let Some(chunk) = below.next().await {
                token.cancel();
                out.send(chunk).await;
            }
            below.outcome()
        })
        .unwrap();
    assert_eq!(short(&collected(fixture.llm.stream(request)).await.unwrap()), ["a", "aborted ABORTED"]);
}

// spec: llm/S39
#[tokio::test(start_paused = true)]
async fn a_listener_cancels_for_itself_and_cannot_take_the_callers_cancellation_away() {
    for by_caller in [true, false] {
        let gate = Gate::new();
        let (fixture, model) = Fixture::with([hanging(&gate)]).await;
        let (request, own) = (request("acme"), CancellationToken::new());
        let caller = request.cancellation.clone();
        fixture
            .app
            .on(STREAM)
            .with(own.clone())
            .run(async |own: &CancellationToken, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
                call.request.cancellation = own.clone();
                next.run(call).await
            })
            .unwrap();
        let mut stream = fixture.llm.stream(request);
        assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
        if by_caller {
            caller.cancel()
        } else {
            own.cancel()
        }
        let rest =
            tokio::time::timeout(Duration::from_secs(60), collected(stream)).await.expect("it goes on");
        assert_eq!(short(&rest.unwrap()), ["aborted ABORTED"]);
        assert!(model.requests()[0].cancellation.is_cancelled());
    }
}

// spec: llm/S35, llm/S37
#[tokio::test]
async fn looking_a_model_up_can_be_cancelled() {
    let (fixture, _) = Fixture::with([]).await;
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let error = fixture.llm.model_info("acme", "m", &cancellation).await.unwrap_err();
    assert_eq!(error.code(), code::ABORTED);
    let error = fixture.llm.prepare(request("acme").config, &cancellation).await.unwrap_err();
    assert_eq!(error.code(), code::ABORTED);
}

// spec: llm/S40
#[tokio::test]
async fn a_reader_that_stops_drops_the_adapters_work_and_the_listeners() {
    struct Drops(Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Drops {
        fn drop(&mut self) {
            self.0.lock().push("listener");
        }
    }
    let gate = Gate::new();
    let (fixture, model) = Fixture::with([hanging(&gate)]).await;
    let dropped: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    fixture
        .app
        .on(STREAM)
        .with(dropped.clone())
        .run(async |dropped: &Arc<Mutex<Vec<&'static str>>>, call: &mut ModelCall, next: Next<'_, _, _>| {
            let _drops = Drops(dropped.clone());
            next.run(call).await
        })
        .unwrap();
    let mut stream = fixture.ask("acme");
    assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
    assert_eq!(*dropped.lock(), Vec::<&str>::new());
    drop(stream);
    assert_eq!(*dropped.lock(), ["listener"]);
    assert!(model.requests()[0].cancellation.is_cancelled(), "what runs elsewhere for it is told");
    fixture.app.assert_no_errors();
}
