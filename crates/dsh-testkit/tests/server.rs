//! The server, asked by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use dsh_testkit::{MockServer, Script, ScriptError};
use serde_json::{Value, json};

fn start(script: &Value) -> MockServer {
    MockServer::start(Script::parse(&script.to_string()).unwrap()).unwrap()
}

fn connect(server: &MockServer) -> TcpStream {
    let stream = TcpStream::connect(server.base_url().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

fn send(mut stream: &TcpStream, body: &Value) {
    let body = body.to_string();
    let head =
        format!("POST /chat/completions HTTP/1.1\r\nX-Some: One\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).unwrap();
}

/// What a server that closes the connection answers.
fn answer(server: &MockServer, body: &Value) -> String {
    let mut stream = connect(server);
    send(&stream, body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn with_tools() -> Value {
    json!({ "model": "m", "tools": [{}] })
}

#[test]
fn requests_with_tools_get_the_steps_in_order_and_the_last_one_repeats() {
    let server = start(&json!({ "steps": [
        { "text": "one", "encoding": "close" }, { "text": "two", "encoding": "close" },
    ] }));
    let title = answer_by_length(&server, &json!({ "model": "m" }));
    assert!(title.contains("A title"), "{title}");
    for expected in ["one", "two", "two"] {
        let answer = answer(&server, &with_tools());
        assert!(answer.contains(&format!("\"content\":\"{expected}\"")), "{answer}");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!((requests[0].header("x-some"), requests[0].path.as_str()), (Some("One"), "/chat/completions"));
    assert_eq!(requests[1].json(), with_tools());
}

/// What a server answers in chunks, up to the last one.
fn answer_by_length(server: &MockServer, body: &Value) -> String {
    let mut stream = connect(server);
    send(&stream, body);
    let (mut answer, mut piece) = (String::new(), [0; 4096]);
    while !answer.ends_with("0\r\n\r\n") {
        let read = stream.read(&mut piece).unwrap();
        answer.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    answer
}

#[test]
fn a_connection_serves_one_request_after_another() {
    let server = start(&json!({ "steps": [{ "text": "a", "encoding": "length" }] }));
    let mut stream = connect(&server);
    for _ in 0..3 {
        send(&stream, &with_tools());
        let (mut answer, mut piece) = (String::new(), [0; 4096]);
        while !answer.ends_with("[DONE]\n\n") {
            let read = stream.read(&mut piece).unwrap();
            answer.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    }
    assert_eq!(server.requests().iter().map(|request| request.connection).collect::<Vec<_>>(), [0, 0, 0]);
}

#[test]
fn a_body_that_is_no_object_is_answered_too() {
    let server = start(&json!({ "steps": [{ "for": "any", "text": "a", "encoding": "close" }] }));
    for body in [json!([1]), json!(5), json!("x")] {
        assert!(answer(&server, &body).contains("[DONE]"), "{body}");
    }
}

#[test]
fn a_request_without_a_length_is_not_taken_for_two() {
    let server = start(&json!({ "steps": [{ "for": "any", "text": "a" }] }));
    let mut stream = connect(&server);
    stream.write_all(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() && server.requests().is_empty());
}

#[test]
fn a_chunk_that_is_cut_was_announced_as_a_whole() {
    let server = start(&json!({ "steps": [{ "text": "some text", "cut": { "at": 40 } }] }));
    let answer = answer(&server, &with_tools());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let (announced, rest) = body.split_once("\r\n").unwrap();
    assert!(usize::from_str_radix(announced, 16).unwrap() > 40 && rest.len() == 40, "{answer}");
}

#[test]
fn a_body_is_cut_at_the_byte_that_is_asked_for() {
    for at in [0, 1, 17, 100] {
        let server =
            start(&json!({ "steps": [{ "text": "some text", "encoding": "close", "cut": { "at": at } }] }));
        let answer = answer(&server, &with_tools());
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(body.len(), at);
    }
}

#[test]
fn a_reset_is_one() {
    let server = start(&json!({ "steps": [{ "text": "a", "cut": { "at": 20, "how": "reset" } }] }));
    let mut stream = connect(&server);
    send(&stream, &with_tools());
    let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn what_is_expected_and_not_there_is_answered_with_an_error_and_remembered() {
    let server =
        start(&json!({ "steps": [{ "expect": { "bodyContains": ["needle"] }, "encoding": "close" }] }));
    let answer = answer_by_length(&server, &with_tools());
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains("needle"), "{answer}");
    assert!(server.wait_for(1, Duration::from_secs(30))[0].unexpected.is_some());
}

#[test]
fn a_server_that_is_dropped_leaves_its_clients() {
    let server = start(&json!({ "steps": [{ "text": "a", "cut": { "at": 1, "how": "stall" } }] }));
    let (mut asking, mut idle) = (connect(&server), connect(&server));
    send(&asking, &with_tools());
    assert_eq!(server.wait_for(1, Duration::from_secs(30)).len(), 1);
    drop(server);
    let _ = asking.read_to_end(&mut Vec::new());
    let _ = idle.read_to_end(&mut Vec::new());
}

#[test]
fn what_is_wrong_with_a_script_is_said_where_it_is() {
    let wrong = |script: Value| Script::parse(&script.to_string()).unwrap_err().to_string();
    assert!(wrong(json!({ "steps": [{}, { "txet": "a" }] })).contains("steps[1]"));
    assert!(
        wrong(json!({ "steps": [{ "cut": { "at": 1, "how": "slowly" } }] })).contains("steps[0].cut.how")
    );
    assert!(wrong(json!({ "steps": [] })).contains("no steps"));
    assert!(wrong(json!({ "steps": [{ "chunk": 0 }] })).contains("`chunk`"));
    assert!(matches!(Script::read(Path::new("no such file")), Err(ScriptError::Read { .. })));
}

#[test]
fn the_scripts_of_this_crate_can_be_followed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let scripts: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(scripts.len() >= 2);
    for script in scripts {
        Script::read(&script).unwrap();
    }
}
