//! Answers that arrive well.

use dsh_llm::{FinishReason, StreamChunk};

use crate::fixture::{Fixture, failure, request, text};
use crate::server::{Reply, Server, Then, answer};

/// `data: {"choices":[{"index":0,"delta":{"content":"zipped"}}]}` and `data: [DONE]`, with blank lines, as gzip.
const GZIP: &[u8] = include_bytes!("../data/answer.gz");

// spec: llm/S65
#[tokio::test]
async fn an_answer_is_pieces_up_to_one_finish() {
    let server = Server::saying("hi").await;
    let chunks = Fixture::new(&server).await.ask(request()).await;
    assert_eq!(text(&chunks), "hi");
    let finishes = chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Finish { .. })).count();
    assert_eq!(finishes, 1);
}

#[tokio::test]
async fn a_body_may_be_gzip_and_its_type_is_not_looked_at() {
    let server = Server::start(vec![Reply::new("201 Created", &[("content-encoding", "gzip")], GZIP)]).await;
    assert_eq!(text(&Fixture::new(&server).await.ask(request()).await), "zipped");
}

// spec: llm/S63, cases/S2
#[tokio::test]
async fn an_answer_that_is_over_ends_at_once_though_the_server_keeps_the_body_open() {
    let whole = answer("hi");
    let open =
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{whole}\r\n", whole.len());
    let server = Server::start(vec![Reply::raw(open, Then::Stall)]).await;
    assert_eq!(text(&Fixture::new(&server).await.ask(request()).await), "hi");
    server.closed(1).await;
}

// spec: llm/S63
#[tokio::test]
async fn a_body_that_is_no_stream_of_events_is_closed_and_not_tried_again() {
    let server =
        Server::start(vec![Reply::new("200 OK", &[], "<html>"), Reply::new("200 OK", &[], "")]).await;
    let fixture = Fixture::new(&server).await;
    for _ in 0..2 {
        assert_eq!(failure(&fixture.ask(request()).await).code, "STREAM_CLOSED");
    }
}

// spec: llm/S68
#[tokio::test]
async fn a_caller_that_cancels_ends_the_answer_and_the_connection() {
    let server = Server::start(vec![Reply::raw("HTTP/1.1 200 OK\r\n", Then::Stall)]).await;
    let fixture = Fixture::new(&server).await;
    let asked = request();
    let cancel = asked.cancellation.clone();
    let (chunks, ()) = tokio::join!(fixture.ask(asked), async {
        server.asked(1).await;
        cancel.cancel();
    });
    let [StreamChunk::Finish { reason: FinishReason::Aborted { failure }, .. }] = &chunks[..] else {
        panic!("{chunks:?}")
    };
    assert_eq!(failure.code, "ABORTED");
    server.closed(1).await;
}

// spec: llm/S68
#[tokio::test]
async fn a_reader_that_goes_away_ends_the_connection() {
    let whole = answer("hi");
    let open = format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{whole}");
    let server = Server::start(vec![Reply::raw(open, Then::Stall)]).await;
    let fixture = Fixture::new(&server).await;
    let mut stream = fixture.stream(request());
    stream.next().await.unwrap().unwrap();
    drop(stream);
    server.closed(1).await;
}
