//! Time limits, on a clock that is put forward.

use std::num::NonZeroU64;
use std::time::Duration;

use dsh_llm::{ModelStream, StreamChunk};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::fixture::{Fixture, failure, pass, request, said};
use crate::server::{Reply, Server, Then, answer, read};

const IDLE: Duration = Duration::from_secs(300);

fn stalls(bytes: impl Into<Vec<u8>>) -> Reply {
    Reply::raw(bytes, Then::Stall)
}

fn half() -> String {
    let whole = answer("so far");
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{whole}\r\n", whole.len())
        .replace("data: [DONE]\n\n", ": ping......\n\n")
}

/// Reads until so much text has come; then the clock can be moved.
async fn read_text(stream: &mut ModelStream) -> Vec<StreamChunk> {
    let mut chunks = Vec::new();
    while said(&chunks).is_empty() {
        assert!(!matches!(chunks.last(), Some(StreamChunk::Finish { .. })), "{chunks:?}");
        chunks.push(stream.next().await.unwrap().unwrap());
    }
    chunks
}

/// Reads to the end, while the clock is put forward again and again.
async fn read_out(stream: &mut ModelStream, step: Duration) -> Vec<StreamChunk> {
    let mut chunks = Vec::new();
    tokio::time::pause();
    loop {
        tokio::select! {
            biased;
            next = stream.next() => match next {
                Some(chunk) => chunks.push(chunk.unwrap()),
                None => break,
            },
            () = tokio::time::advance(step) => {}
        }
    }
    tokio::time::resume();
    chunks
}

// spec: llm/S68
#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_when_the_idle_time_is_over() {
    for begun in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        "HTTP/1.1 500 X\r\ncontent-length: 9\r\n\r\n",
    ] {
        let server = Server::start(vec![stalls(begun)]).await;
        let fixture = Fixture::new(&server).await;
        let mut stream = fixture.stream(request());
        tokio::select! {
            biased;
            _ = stream.next() => panic!("it ended by itself"),
            () = server.asked(1) => {}
        }
        let failure = failure(&read_out(&mut stream, IDLE).await);
        assert_eq!(failure.code, "TIMEOUT", "{begun:?}");
        assert!(failure.message.contains("300000 ms"), "{}", failure.message);
        server.closed(1).await;
    }
}

// spec: llm/S68
#[tokio::test]
async fn what_came_before_the_limit_is_kept() {
    let server = Server::start(vec![stalls(half())]).await;
    let fixture = Fixture::new(&server).await;
    let mut stream = fixture.stream(request());
    let mut chunks = read_text(&mut stream).await;
    chunks.extend(read_out(&mut stream, IDLE).await);
    assert_eq!(said(&chunks), "so far");
    assert_eq!(failure(&chunks).code, "TIMEOUT");
}

// spec: llm/S68
#[tokio::test]
async fn the_readers_own_time_does_not_count() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    let mut stream = fixture.stream(request());
    let mut chunks = Vec::new();
    while let Some(chunk) = stream.next().await {
        chunks.push(chunk.unwrap());
        pass(IDLE * 2).await;
    }
    assert_eq!(crate::fixture::text(&chunks), "hi");
}

// spec: llm/S68
#[tokio::test]
async fn what_comes_starts_the_time_anew_and_the_readers_own_time_does_not_count() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let fixture = Fixture::at(&base, |_| {}).await;
    let mut stream = fixture.stream(request());
    let event = |text: &str| answer(text).split_inclusive("\n\n").next().unwrap().to_owned();
    let (mut chunks, mut socket) = tokio::join!(read_text(&mut stream), async {
        let (mut socket, _) = listener.accept().await.unwrap();
        read(&mut socket, &mut Vec::new()).await.unwrap();
        socket.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{}", event("0")).as_bytes()).await.unwrap();
        socket
    });
    for text in ["1", "2", "3"] {
        pass(IDLE * 2).await;
        let (more, ()) = tokio::join!(read_text(&mut stream), async {
            pass(IDLE * 3 / 4).await;
            socket.write_all(event(text).as_bytes()).await.unwrap();
        });
        chunks.extend(more);
    }
    assert_eq!(said(&chunks), "0123");
}

// spec: llm/S68
#[tokio::test]
async fn the_whole_time_can_be_limited_as_well() {
    let server = Server::start(vec![stalls(half())]).await;
    let fixture = Fixture::with(&server, |config| config.total_timeout_ms = NonZeroU64::new(5_000)).await;
    let mut stream = fixture.stream(request());
    read_text(&mut stream).await;
    let chunks = read_out(&mut stream, Duration::from_secs(5)).await;
    let failure = failure(&chunks);
    assert_eq!(failure.code, "TIMEOUT");
    assert!(failure.message.contains("totalTimeoutMs"), "{}", failure.message);
}
