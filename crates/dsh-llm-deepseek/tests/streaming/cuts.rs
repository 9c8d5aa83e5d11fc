//! Answers that are cut off. Each byte position of three recorded answers takes a minute:
//! `cargo test -p dsh-llm-deepseek --release --test streaming -- --ignored`.

use dsh_llm::{FinishReason, StreamChunk};
use dsh_testkit::{Cut, Done, Encoding, How, LineEnd, Step};
use serde_json::json;

use crate::fixture::{Fixture, called, full, said};

/// Three answers: text alone, a thought and two calls, and a long one in another way of writing.
fn recorded() -> [Step; 3] {
    [
        Step { chunk: Some(5), ..said("All done.", "") },
        full(),
        Step {
            chunk: Some(2),
            line_end: LineEnd::Crlf,
            comments: true,
            calls: vec![called("bash", json!({ "command": "echo \"ä\" | wc -c", "description": "count" }))],
            ..said("Let me look at it, step by step.", "First the files, then the rest.")
        },
    ]
}

/// How many bytes the body of a step has.
async fn length(step: &Step) -> usize {
    // A server that is cut behind its end sends all of it.
    let mut length = 0;
    let whole = Fixture::new([step.clone()]).await.ask().await.chunks.len();
    for bit in (0..20).rev() {
        let at = length | (1 << bit);
        let cut = Step { cut: Some(Cut { at, how: How::Fin }), encoding: Encoding::Close, ..step.clone() };
        if Fixture::new([cut]).await.ask().await.chunks.len() < whole {
            length = at;
        }
    }
    length + 1
}

/// Cuts an answer at every so many bytes; whatever comes is a beginning of the whole, with one finish.
async fn cut_everywhere(step: &Step, stride: usize) {
    let whole = Fixture::new([step.clone()]).await.ask().await;
    assert!(!matches!(whole.finish(), FinishReason::Error { .. }), "{whole:?}");
    let length = length(step).await;
    let positions: Vec<usize> = (0..length).step_by(stride).collect();
    let ways = [(How::Fin, Encoding::Chunked), (How::Reset, Encoding::Chunked), (How::Fin, Encoding::Close)];
    for (how, encoding) in ways {
        let cut = |at| Step { cut: Some(Cut { at, how }), encoding, ..step.clone() };
        let fixture = Fixture::new(positions.iter().map(|at| cut(*at))).await;
        let mut most = 0;
        for at in &positions {
            let came = fixture.ask().await;
            assert_eq!(came.finishes(), 1, "{how:?} at {at}");
            if came == whole {
                // All but the end of the last line, or of the body, had come.
                assert!(*at + 2 >= length, "{how:?} at {at} of {length}");
                continue;
            }
            let code = came.failure().code;
            // Nothing tells a short body that ends by the end of its connection from none at all.
            let is_told = code == "TRANSPORT" || (encoding == Encoding::Close && code == "STREAM_CLOSED");
            assert!(is_told, "{how:?} at {at}: {code}");
            let (_, begun) = came.chunks.split_last().unwrap();
            assert!(whole.chunks.starts_with(begun), "{how:?} at {at}");
            // A reset may overtake what was sent; otherwise all that had come is told.
            assert!(how == How::Reset || begun.len() >= most, "{how:?} at {at}");
            most = most.max(begun.len());
        }
        // All but what comes with the end.
        let begun = whole.chunks.iter().take_while(|chunk| !matches!(chunk, StreamChunk::BlockEnd { .. }));
        assert!(how == How::Reset || stride > 1 || most == begun.count(), "{how:?}: {most} pieces");
    }
}

// spec: llm/S62, llm/S63, cases/S2
#[tokio::test]
async fn an_answer_cut_anywhere_is_told_as_a_broken_connection() {
    let [short, middle, long] = recorded();
    cut_everywhere(&short, 1).await;
    cut_everywhere(&middle, 97).await;
    cut_everywhere(&long, 211).await;
}

#[tokio::test]
#[ignore = "takes a minute; see the head of this file"]
async fn three_answers_are_cut_at_every_byte() {
    for step in recorded() {
        cut_everywhere(&step, 1).await;
    }
}

// spec: llm/S62
#[tokio::test]
async fn a_head_cut_anywhere_is_told_as_a_broken_connection() {
    for how in [How::Fin, How::Reset] {
        for at in [0, 1, 12, 20, 40, 60] {
            let step = Step { cut_head: Some(Cut { at, how }), ..full() };
            let came = Fixture::new([step]).await.ask().await;
            assert_eq!(
                (came.failure().code.as_str(), came.chunks.len()),
                ("TRANSPORT", 1),
                "{how:?} at {at}"
            );
        }
    }
}

// spec: llm/S63, cases/S2
#[tokio::test]
async fn a_body_that_ends_without_done_is_a_cut_wherever_that_is() {
    let calls = vec![called("bash", json!({ "command": "ls" }))];
    for step in [
        said("half", ""),
        Step { finish: Some(String::new()), ..said("half", "") },
        Step { calls, ..said("", "") },
    ] {
        for encoding in [Encoding::Chunked, Encoding::Length, Encoding::Close] {
            let step = Step { done: Done::Missing, encoding, ..step.clone() };
            let came = Fixture::new([step.clone()]).await.ask().await;
            assert_eq!(came.failure().code, "TRANSPORT", "{step:?}");
            let has_end = came.chunks.iter().any(|chunk| matches!(chunk, StreamChunk::BlockEnd { .. }));
            assert!(!has_end, "nothing is whole before the end: {step:?}");
        }
    }
}

// spec: llm/S62, cases/S2
#[tokio::test]
async fn after_a_cut_the_next_request_is_answered() {
    for how in [How::Fin, How::Reset] {
        let cut = Step { cut: Some(Cut { at: 100, how }), ..full() };
        let fixture = Fixture::new([cut, full()]).await;
        assert_eq!(fixture.ask().await.failure().code, "TRANSPORT");
        assert_eq!(fixture.ask().await.blocks().len(), 4);
        let connections: Vec<u64> =
            fixture.server.requests().iter().map(|request| request.connection).collect();
        assert_eq!(connections, [0, 1], "a broken connection is not used again");
    }
}
