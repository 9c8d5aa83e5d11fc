//! Connections that cannot be made, or break.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::fixture::{Fixture, failure, request, said};
use crate::server::{Reply, Server, Then, answer};

// spec: llm/S62
#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_the_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let failure = Fixture::at(&base, |_| {}).await.fail(request()).await;
    assert_eq!((failure.code.as_str(), failure.status), ("TRANSPORT", None));
    assert!(failure.message.contains(&format!("{base}/chat/completions")), "{}", failure.message);
    assert!(failure.message.to_lowercase().contains("refused"), "{}", failure.message);
}

// spec: llm/S62
#[tokio::test]
async fn a_connection_that_ends_before_there_is_an_answer_is_a_transport_failure() {
    for begun in ["", "HTTP/1.1 200 OK\r\n", "not HTTP\r\n\r\n"] {
        let server = Server::start(vec![Reply::raw(begun, Then::Close)]).await;
        let failure = Fixture::new(&server).await.fail(request()).await;
        assert_eq!(failure.code, "TRANSPORT", "{begun:?}");
        assert_eq!(server.requests().len(), 1, "{begun:?}");
    }
}

// spec: llm/S62
#[tokio::test]
async fn a_body_that_breaks_off_is_a_transport_failure_after_what_had_come() {
    let whole = answer("so far");
    let cut = &whole[..whole.find("data: [DONE]").unwrap()];
    for head in [format!("content-length: {}", whole.len()), "transfer-encoding: chunked".to_owned()] {
        let body =
            if head.starts_with('t') { format!("{:x}\r\n{cut}\r\n", cut.len()) } else { cut.to_owned() };
        let server =
            Server::start(vec![Reply::raw(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"), Then::Close)])
                .await;
        let chunks = Fixture::new(&server).await.ask(request()).await;
        assert_eq!(said(&chunks), "so far");
        let failure = failure(&chunks);
        assert_eq!(failure.code, "TRANSPORT");
        assert!(failure.message.contains(&server.base), "{}", failure.message);
    }
}

#[tokio::test]
async fn tls_with_a_server_that_has_none_is_a_transport_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    let answered = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    };
    let fixture = Fixture::at(&base, |_| {}).await;
    let (failure, ()) = tokio::join!(fixture.fail(request()), answered);
    assert_eq!(failure.code, "TRANSPORT");
    assert!(failure.message.contains(&base), "{}", failure.message);
}
