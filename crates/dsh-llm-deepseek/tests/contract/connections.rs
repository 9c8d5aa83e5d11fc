//! Connections are used again, and nothing of them is left.

use dsh_llm::StreamChunk;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::runtime::Handle;

use crate::fixture::{Fixture, request, text};
use crate::server::{Reply, Server, Then, read, until};

// spec: design/P6
#[tokio::test]
async fn calls_one_after_another_share_a_connection_also_after_an_error() {
    let chunked = |text: &str| {
        let whole = crate::server::answer(text);
        Reply::raw(
            format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{whole}\r\n0\r\n\r\n",
                whole.len()
            ),
            Then::Keep,
        )
    };
    let server =
        Server::start(vec![chunked("a"), Reply::new("500 X", &[], "{}"), Reply::says("b"), chunked("c")])
            .await;
    let fixture = Fixture::new(&server).await;
    for _ in 0..4 {
        fixture.ask(request()).await;
    }
    let connections: Vec<usize> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0; 4]);
}

// spec: design/P6
#[tokio::test]
async fn a_body_that_ends_a_moment_after_its_answer_keeps_the_connection_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let fixture = Fixture::at(&base, |_| {}).await;
    let mut stream = fixture.stream(request());
    let whole = crate::server::answer("hi");
    let head =
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{whole}\r\n", whole.len());
    let (mut socket, ()) = tokio::join!(
        async {
            let (mut socket, _) = listener.accept().await.unwrap();
            read(&mut socket, &mut Vec::new()).await.unwrap();
            socket.write_all(head.as_bytes()).await.unwrap();
            socket
        },
        async { while !matches!(stream.next().await, Some(Ok(StreamChunk::Finish { .. }))) {} }
    );
    let (rest, written) = tokio::join!(stream.next(), socket.write_all(b"0\r\n\r\n"));
    assert!(rest.is_none());
    written.unwrap();

    let again = async {
        read(&mut socket, &mut Vec::new()).await.unwrap();
        socket.write_all(format!("{head}0\r\n\r\n").as_bytes()).await.unwrap();
    };
    let (chunks, ()) = tokio::join!(fixture.ask(request()), again);
    assert_eq!(text(&chunks), "hi");
}

// spec: design/P1
#[tokio::test]
async fn nothing_is_left_when_the_plugin_is_unloaded() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    let before = Handle::current().metrics().num_alive_tasks();
    assert_eq!(text(&fixture.ask(request()).await), "hi");
    fixture.plugin.dispose().await;
    server.closed(1).await;
    until(|| Handle::current().metrics().num_alive_tasks() <= before).await;
    fixture.app.assert_no_errors();
}

// spec: design/P1
#[tokio::test]
async fn a_call_that_waits_ends_with_the_plugin() {
    let server = Server::start(vec![Reply::raw("HTTP/1.1 200 OK\r\n", Then::Stall)]).await;
    let fixture = Fixture::new(&server).await;
    let (chunks, ()) = tokio::join!(fixture.ask(request()), async {
        server.asked(1).await;
        fixture.plugin.dispose().await;
    });
    assert_eq!(crate::fixture::failure(&chunks).code, "REGISTRATION_DISPOSED");
    server.closed(1).await;
}
