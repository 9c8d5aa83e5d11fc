//! Servers that answer with an error.

use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::fixture::{Fixture, KEY_ENV, request};
use crate::server::{Reply, Server, Then};

fn error(status: &str, message: &str) -> Reply {
    Reply::new(
        status,
        &[("content-type", "application/json")],
        json!({ "error": { "message": message } }).to_string(),
    )
}

// spec: llm/S61
#[tokio::test]
async fn a_status_and_what_is_said_with_it_give_the_code() {
    let overflow = "This model's maximum context length is 65536 tokens.";
    let quota = "You exceeded your current quota";
    let cases = [
        ("400", "bad thing", "INVALID_REQUEST"),
        ("401", "no", "AUTH"),
        ("401", quota, "AUTH"),
        ("403", "no", "AUTH"),
        ("413", overflow, "INVALID_REQUEST"),
        ("402", "pay", "HTTP_402"),
        ("402", "Insufficient Balance", "QUOTA"),
        ("400", quota, "QUOTA"),
        ("429", quota, "QUOTA"),
        ("500", quota, "QUOTA"),
        ("429", "slow down", "RATE_LIMIT"),
        ("400", overflow, "CONTEXT_WINDOW_EXCEEDED"),
        ("422", overflow, "HTTP_422"),
        ("500", overflow, "SERVER"),
        ("404", "x", "HTTP_404"),
        ("408", "x", "HTTP_408"),
        ("418", "x", "HTTP_418"),
        ("502", "x", "SERVER"),
        ("529", "x", "SERVER"),
        ("599", "x", "SERVER"),
        ("300", "x", "HTTP_300"),
    ];
    let server = Server::start(
        cases.iter().map(|(status, message, _)| error(&format!("{status} X"), message)).collect(),
    )
    .await;
    let fixture = Fixture::new(&server).await;
    for (status, message, code) in cases {
        let failure = fixture.fail(request()).await;
        assert_eq!(
            (failure.code.as_str(), failure.status),
            (code, Some(status.parse().unwrap())),
            "{status} {message}"
        );
        assert!(failure.message.starts_with(message), "{}", failure.message);
    }
    assert_eq!(server.requests().len(), cases.len(), "nothing is tried again here");
}

// spec: llm/S61
#[tokio::test]
async fn a_code_in_the_body_tells_what_its_message_does_not() {
    let body =
        json!({ "error": { "message": "no", "code": "context_length_exceeded", "type": 7 } }).to_string();
    let server = Server::start(vec![Reply::new("400 X", &[], body)]).await;
    let failure = Fixture::new(&server).await.fail(request()).await;
    assert_eq!(failure.code, "CONTEXT_WINDOW_EXCEEDED");
}

// spec: llm/S61
#[tokio::test]
async fn a_body_that_says_nothing_leaves_the_status_and_the_url() {
    let bodies = [
        "",
        "Insufficient Balance",
        "<html>no</html>",
        "{\"message\":\"x\"}",
        "{\"error\":\"x\"}",
        "[]",
        "null",
        "{\"error\":{\"message\":\"\"}}",
        "{\"error\":{\"message\":7}}",
        "{\"error\":{",
    ];
    let server = Server::start(bodies.iter().map(|body| Reply::new("429 X", &[], body)).collect()).await;
    let fixture = Fixture::new(&server).await;
    let expected =
        format!("{}/chat/completions answered with an error (HTTP 429) and does not say why", server.base);
    for body in bodies {
        let failure = fixture.fail(request()).await;
        assert_eq!((failure.code.as_str(), &failure.message), ("RATE_LIMIT", &expected), "{body:?}");
    }
}

// spec: llm/S61
#[tokio::test]
async fn an_error_whose_body_breaks_off_or_is_huge_is_still_what_its_status_says() {
    let head = "HTTP/1.1 503 X\r\ncontent-length: 100\r\n\r\n{\"error\"";
    let huge = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "x".repeat(2 << 20));
    let server = Server::start(vec![Reply::raw(head, Then::Close), Reply::new("503 X", &[], huge)]).await;
    let fixture = Fixture::new(&server).await;
    for _ in 0..2 {
        let failure = fixture.fail(request()).await;
        assert_eq!((failure.code.as_str(), failure.status), ("SERVER", Some(503)));
        assert!(failure.message.contains("answered with an error (HTTP 503)"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_long_message_is_kept_whole() {
    let message = "é".repeat(100_000);
    let server = Server::start(vec![error("400 X", &message)]).await;
    assert_eq!(Fixture::new(&server).await.fail(request()).await.message, message);
}

#[tokio::test]
async fn what_is_to_be_done_is_said_where_it_is_known() {
    let server = Server::start(vec![error("401 X", "no"), Reply::new("404 X", &[], "")]).await;
    let fixture = Fixture::new(&server).await;
    let auth = fixture.fail(request()).await.message;
    assert!(auth.contains(KEY_ENV) && auth.contains(&server.base), "{auth}");
    let missing = fixture.fail(request()).await.message;
    assert!(
        missing.contains("baseURL") && missing.contains(&format!("{}/chat/completions", server.base)),
        "{missing}"
    );
}

// spec: llm/S61
#[tokio::test]
async fn when_to_come_back_is_carried_along() {
    let date = httpdate(SystemTime::now() + Duration::from_secs(3_600));
    let values = ["2", "60", "999999", &date, "0", "-1", "1e300", "NaN", "soon"];
    let reply = |value: &&str| Reply::new("429 X", &[("retry-after", value)], "");
    let server = Server::start(values.iter().map(reply).collect()).await;
    let fixture = Fixture::new(&server).await;
    let mut said = Vec::new();
    for _ in values {
        said.push(fixture.fail(request()).await.provider_retry_after_ms);
    }
    assert_eq!(said[..3], [Some(2_000.0), Some(60_000.0), Some(999_999_000.0)]);
    assert!(said[3].is_some_and(|ms| ms > 3_000_000.0 && ms <= 3_600_000.0), "{:?}", said[3]);
    assert_eq!(said[4..], [None; 5]);
}

fn httpdate(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}

// spec: llm/S61
#[tokio::test]
async fn the_servers_name_for_a_request_is_carried_along() {
    type Case = (&'static [(&'static str, &'static str)], Option<&'static str>);
    let cases: [Case; 5] = [
        (&[("x-request-id", "a"), ("x-deepseek-request-id", "b")], Some("a")),
        (&[("x-deepseek-request-id", "b")], Some("b")),
        (&[("x-request-id", ""), ("x-deepseek-request-id", "b")], Some("b")),
        (&[("request-id", "c"), ("x-ds-trace-id", "d")], None),
        (&[], None),
    ];
    let server =
        Server::start(cases.iter().map(|(headers, _)| Reply::new("500 X", headers, "")).collect()).await;
    let fixture = Fixture::new(&server).await;
    for (headers, id) in cases {
        assert_eq!(fixture.fail(request()).await.request_id.as_deref(), id, "{headers:?}");
    }
}

// spec: llm/S62
#[tokio::test]
async fn a_success_without_a_body_is_an_empty_response() {
    let bare = |status: &str| Reply::raw(format!("HTTP/1.1 {status}\r\n\r\n"), Then::Keep);
    let server = Server::start(vec![bare("204 No Content")]).await;
    let failure = Fixture::new(&server).await.fail(request()).await;
    assert_eq!((failure.code.as_str(), failure.status), ("EMPTY_RESPONSE", None));
}

// spec: llm/S61
#[tokio::test]
async fn a_status_that_is_none_of_http_is_a_broken_server() {
    let server = Server::start(vec![Reply::new("600 X", &[], ""), Reply::new("999 X", &[], "")]).await;
    let fixture = Fixture::new(&server).await;
    for _ in 0..2 {
        let failure = fixture.fail(request()).await;
        assert_eq!((failure.code.as_str(), failure.status), ("TRANSPORT", None));
    }
}
