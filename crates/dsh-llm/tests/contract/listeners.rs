//! What listeners of `llm/stream` can do with a call.

use std::sync::Arc;

use cordis::{BoxError, Next};
use dsh_llm::testing::{Answer, ScriptedModel, collected};
use dsh_llm::{FinishReason, LlmError, ModelCall, Outcome, STREAM, StreamChunk, StreamError, code};
use parking_lot::Mutex;

use crate::fixture::{Fixture, delta, request, short, stop};

type Rest<'a> = Next<'a, ModelCall, Outcome>;

async fn shouting(call: &mut ModelCall, next: Rest<'_>) -> Outcome {
    let mut out = call.out.clone();
    let mut below = call.below(next);
    while let Some(chunk) = below.next().await {
        let chunk = match chunk {
            StreamChunk::TextDelta { index, text } => {
                StreamChunk::TextDelta { index, text: text.to_uppercase() + "!" }
            }
            chunk => chunk,
        };
        out.send(chunk).await;
    }
    below.outcome()
}

fn spoken(words: &[&str]) -> Answer {
    Answer::new().chunks(words.iter().map(|word| delta(*word))).chunks([stop()])
}

// spec: llm/S38, llm/S39
#[tokio::test]
async fn an_answer_arrives_as_the_adapter_sends_it() {
    let (fixture, model) = Fixture::with([spoken(&["a", "b"])]).await;
    let asked = request("acme");
    let message = asked.messages[0].clone();
    let chunks = collected(fixture.llm.stream(asked)).await.unwrap();
    assert_eq!(short(&chunks), ["a", "b", "stop"]);
    let requests = model.requests();
    assert_eq!(requests.len(), 1);
    assert!(Arc::ptr_eq(&requests[0].messages[0], &message), "messages are shared, not copied");
    fixture.app.assert_no_errors();
}

// spec: llm/S38
#[tokio::test]
async fn nothing_happens_before_a_stream_is_read() {
    let (fixture, model) = Fixture::with([spoken(&["a"])]).await;
    drop(fixture.ask("acme"));
    assert_eq!(model.requests().len(), 0);
}

// spec: llm/S38
#[tokio::test]
async fn a_listener_changes_the_pieces_below_and_three_of_them_nest() {
    let (fixture, _) = Fixture::with([spoken(&["a", "b"])]).await;
    for _ in 0..3 {
        fixture.app.on(STREAM).run(shouting).unwrap();
    }
    let chunks = collected(fixture.ask("acme")).await.unwrap();
    assert_eq!(short(&chunks), ["A!!!", "B!!!", "stop"]);
}

// spec: llm/S38
#[tokio::test]
async fn a_listener_that_reads_nothing_passes_the_call_on() {
    let (fixture, _) = Fixture::with([spoken(&["a"])]).await;
    let order: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let seen = order.clone();
    fixture
        .app
        .on(STREAM)
        .with(seen)
        .run(async |seen: &Arc<Mutex<Vec<&'static str>>>, call: &mut ModelCall, next: Rest<'_>| {
            seen.lock().push("before");
            let outcome = next.run(call).await;
            seen.lock().push("after");
            outcome
        })
        .unwrap();
    let mut stream = fixture.ask("acme");
    assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
    assert_eq!(*order.lock(), ["before"], "the dispatch lasts as long as the answer");
    assert_eq!(stream.next().await.unwrap().unwrap(), stop());
    assert!(stream.next().await.is_none());
    assert_eq!(*order.lock(), ["before", "after"]);
}

// spec: llm/S38
#[tokio::test]
async fn a_retry_runs_what_is_below_again_listeners_included() {
    let failing = || Answer::new().chunks([delta("x")]).fail(LlmError::new(code::SERVER, "it broke"));
    let (fixture, model) = Fixture::with([failing(), failing(), spoken(&["a"])]).await;
    async fn retrying(call: &mut ModelCall, next: Rest<'_>) -> Outcome {
        let mut out = call.out.clone();
        loop {
            let mut below = call.below(next.clone());
            let mut answer = Vec::new();
            while let Some(chunk) = below.next().await {
                answer.push(chunk);
            }
            below.outcome()?;
            if matches!(answer.last(), Some(StreamChunk::Finish { reason: FinishReason::Error { .. }, .. })) {
                continue;
            }
            for chunk in answer {
                out.send(chunk).await;
            }
            return Ok(());
        }
    }
    let runs: Arc<Mutex<u32>> = Arc::default();
    fixture.app.on(STREAM).run(retrying).unwrap();
    fixture
        .app
        .on(STREAM)
        .with(runs.clone())
        .run(async |runs: &Arc<Mutex<u32>>, call: &mut ModelCall, next: Rest<'_>| {
            *runs.lock() += 1;
            shouting(call, next).await
        })
        .unwrap();
    let chunks = collected(fixture.ask("acme")).await.unwrap();
    assert_eq!(short(&chunks), ["A!", "stop"]);
    assert_eq!(model.requests().len(), 3);
    assert_eq!(*runs.lock(), 3);
}

// spec: llm/S38
#[tokio::test]
async fn a_listener_reroutes_a_call_because_the_provider_is_looked_up_below_it() {
    let (fixture, model) = Fixture::with([]).await;
    let other = ScriptedModel::new([spoken(&["b"])]);
    fixture.serve("bolt", &other);
    fixture.reroute("bolt");
    // Nobody serves the provider that is asked for first.
    let chunks = collected(fixture.ask("nobody")).await.unwrap();
    assert_eq!(short(&chunks), ["b", "stop"]);
    assert_eq!((model.requests().len(), other.requests().len()), (0, 1));
}

// spec: llm/S38
#[tokio::test]
async fn a_listener_answers_by_itself_and_no_adapter_is_asked() {
    let (fixture, model) = Fixture::with([]).await;
    fixture
        .app
        .on(STREAM)
        .run(async |call: &mut ModelCall, _next: Rest<'_>| {
            call.out.send(delta("mine")).await;
            call.out.send(stop()).await;
            Ok(())
        })
        .unwrap();
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["mine", "stop"]);
    assert_eq!(model.requests().len(), 0);
}

// spec: llm/S38
#[tokio::test]
async fn listeners_of_a_scope_do_not_hear_calls() {
    let (fixture, _) = Fixture::with([spoken(&["a"])]).await;
    let scope = fixture.app.scope().unwrap();
    scope.context().on(STREAM).run(shouting).unwrap();
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["a", "stop"]);
}

// spec: llm/S40
#[tokio::test]
async fn the_error_of_a_listener_is_raised_behind_what_was_read() {
    let (fixture, _) = Fixture::with([spoken(&["a"])]).await;
    fixture
        .app
        .on(STREAM)
        .run(async |call: &mut ModelCall, next: Rest<'_>| {
            next.run(call).await?;
            Err(BoxError::from("the meter is broken"))
        })
        .unwrap();
    let mut stream = fixture.ask("acme");
    assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
    assert_eq!(stream.next().await.unwrap().unwrap(), stop());
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(matches!(&error, StreamError::Raised(raised) if raised.to_string() == "the meter is broken"));
    assert!(stream.next().await.is_none(), "an error is the end");
}

// spec: llm/S40, design/P4
#[tokio::test]
async fn the_panic_of_a_listener_ends_its_stream_alone_and_names_its_plugin() {
    let (fixture, _) = Fixture::with([spoken(&["a"]), spoken(&["b"])]).await;
    let effect = fixture
        .app
        .on(STREAM)
        .run(async |call: &mut ModelCall, next: Rest<'_>| {
            let mut below = call.below(next);
            assert!(below.next().await.is_none(), "this listener wants no pieces");
            below.outcome()
        })
        .unwrap();
    let error = collected(fixture.ask("acme")).await.unwrap_err();
    assert!(matches!(error, StreamError::Panicked(_)), "{error}");
    assert!(error.to_string().contains("this listener wants no pieces"), "{error}");
    assert!(error.to_string().contains("llm/stream"), "{error}");
    effect.dispose().await;
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["b", "stop"]);
}

// spec: llm/S40
#[tokio::test]
async fn a_listener_that_stops_reading_drops_the_adapters_work() {
    let gate = dsh_llm::testing::Gate::new();
    let (fixture, model) = Fixture::with([Answer::new().chunks([delta("a")]).wait(&gate)]).await;
    fixture
        .app
        .on(STREAM)
        .run(async |call: &mut ModelCall, next: Rest<'_>| {
            let mut out = call.out.clone();
            let mut below = call.below(next);
            let first = below.next().await.unwrap();
            // It is not over, so it is dropped; and that is fine.
            below.outcome()?;
            out.send(first).await;
            out.send(stop()).await;
            // Where nobody reads any more, nobody is waited for.
            assert!(call.out.is_closed());
            call.out.send(delta("lost")).await;
            Ok(())
        })
        .unwrap();
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["a", "stop"]);
    assert!(model.requests()[0].cancellation.is_cancelled(), "what runs elsewhere for it is told");
}
