//! What is sent for a request.

use dsh_llm::{Purpose, ToolSchema};
use dsh_llm_deepseek::Thinking;
use serde_json::{Value, json};

use crate::fixture::{Fixture, KEY, asking, request, text};
use crate::server::Server;

fn tool(name: &str) -> ToolSchema {
    let Value::Object(parameters) =
        json!({ "type": "object", "properties": { "b": { "maximum": 1e3 }, "a": {} } })
    else {
        unreachable!()
    };
    ToolSchema { name: name.to_owned(), description: "Does é.".to_owned(), parameters }
}

// spec: llm/S44, llm/S52
#[tokio::test]
async fn a_request_is_one_post_with_the_references_headers() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    let mut asked = request();
    asked.session_id = Some("session-1".to_owned());
    asked.purpose = Some(Purpose::Compaction);

    assert_eq!(text(&fixture.ask(asked).await), "hi");

    let request = server.request();
    let id = std::fs::read_to_string(fixture.id_file()).unwrap();
    let host = server.base.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let expected = [
        "POST /v1/chat/completions HTTP/1.1".to_owned(),
        format!("authorization: Bearer {KEY}"),
        "content-type: application/json".to_owned(),
        "accept: text/event-stream".to_owned(),
        format!("user-agent: dsh/{version}"),
        format!("x-deepseek-harness-user-id: {}", id.trim()),
        "x-deepseek-harness-session-id: session-1".to_owned(),
        "x-deepseek-harness-compact: 1".to_owned(),
        "accept-encoding: gzip".to_owned(),
        format!("host: {host}"),
        format!("content-length: {}", request.body.len()),
    ];
    assert_eq!(request.head, expected);
}

// spec: llm/S52
#[tokio::test]
async fn headers_about_a_session_are_left_out_where_there_is_none_or_it_cannot_be_sent() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::with(&server, |config| config.attribution = false).await;
    for session in [None, Some("a\nb"), Some("名前"), Some(""), Some("a b/é")] {
        let mut asked = request();
        asked.session_id = session.map(str::to_owned);
        fixture.ask(asked).await;
    }
    let sent: Vec<Option<String>> = server
        .requests()
        .iter()
        .map(|request| {
            let line = request.head.iter().find(|line| line.starts_with("x-deepseek-harness-session-id:"))?;
            Some(line.split_once(':').unwrap().1.trim().to_owned())
        })
        .collect();
    assert_eq!(sent, [None, None, None, Some(String::new()), Some("a b/é".to_owned())]);
    assert_eq!(server.requests()[0].header("x-deepseek-harness-user-id"), None);
    assert!(!fixture.id_file().exists());
}

// spec: llm/S44
#[tokio::test]
async fn another_user_agent_can_be_set() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::with(&server, |config| config.user_agent = Some("mine/2".to_owned())).await;
    fixture.ask(request()).await;
    assert_eq!(server.request().header("user-agent"), Some("mine/2"));
}

// spec: llm/S53, llm/S54
#[tokio::test]
async fn the_body_has_the_references_fields_in_its_order() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    let mut asked = request();
    asked.system = Some("SYS".into());
    asked.tools = vec![tool("first"), tool("second")].into();
    asked.config.temperature = Some(0.0);
    asked.config.max_tokens = Some(0);
    asked.config.stop = Some(Vec::new());
    fixture.ask(asked).await;

    let function = |name: &str| {
        format!(
            r#"{{"type":"function","function":{{"name":"{name}","description":"Does é.","parameters":{{"type":"object","properties":{{"b":{{"maximum":1000.0}},"a":{{}}}}}}}}}}"#
        )
    };
    let expected = format!(
        r#"{{"model":"deepseek-v4-flash","messages":[{{"role":"system","content":"SYS"}},{{"role":"user","content":"hello"}}],"stream":true,"stream_options":{{"include_usage":true}},"thinking":{{"type":"enabled"}},"reasoning_effort":"high","tools":[{},{}],"temperature":0,"max_tokens":0,"stop":[]}}"#,
        function("first"),
        function("second")
    );
    assert_eq!(String::from_utf8(server.request().body).unwrap(), expected);
}

// spec: llm/S53
#[tokio::test]
async fn what_is_not_set_is_not_sent_but_the_models_own_limit() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    fixture.ask(request()).await;
    let expected = r#"{"model":"deepseek-v4-flash","messages":[{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true},"thinking":{"type":"enabled"},"reasoning_effort":"high","max_tokens":256000}"#;
    assert_eq!(String::from_utf8(server.request().body).unwrap(), expected);
}

// spec: llm/S54
#[tokio::test]
async fn efforts_become_thinking_and_titles_are_not_thought_about() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    let cases = [
        (Some("off"), None, json!("disabled"), Value::Null),
        (Some("low"), None, json!("enabled"), json!("low")),
        (Some("high"), None, json!("enabled"), json!("high")),
        (Some("max"), None, json!("enabled"), json!("max")),
        (Some("max"), Some(Purpose::SessionTitle), json!("disabled"), Value::Null),
        (Some("max"), Some(Purpose::Compaction), json!("enabled"), json!("max")),
        (None, None, json!("enabled"), json!("high")),
    ];
    for (effort, purpose, ..) in &cases {
        let mut asked = request();
        asked.config.reasoning_effort = effort.map(str::to_owned);
        asked.purpose = *purpose;
        fixture.ask(asked).await;
    }
    for ((effort, purpose, thinking, sent), request) in cases.iter().zip(server.requests()) {
        let body = request.json();
        assert_eq!(
            (&body["thinking"]["type"], &body["reasoning_effort"]),
            (thinking, sent),
            "{effort:?} {purpose:?}"
        );
    }
}

// spec: llm/S48, llm/S54
#[tokio::test]
async fn an_effort_that_the_model_does_not_have_is_refused_without_a_request() {
    let server = Server::saying("hi").await;
    let fixture =
        Fixture::with(&server, |config| config.thinking = Some(dsh_llm_deepseek::Thinking::Disabled)).await;
    for effort in ["low", "medium", ""] {
        let mut asked = request();
        asked.config.reasoning_effort = Some(effort.to_owned());
        assert_eq!(fixture.fail(asked).await.code, "UNSUPPORTED_REASONING_EFFORT", "{effort}");
    }
    assert!(server.requests().is_empty());
    fixture.ask(request()).await;
    assert_eq!(server.request().json()["thinking"], json!({ "type": "disabled" }));
}

// spec: agent-loop/S87
#[tokio::test]
async fn the_same_request_is_the_same_bytes_each_time() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    let asked = asking(request().messages.iter().map(|message| (**message).clone()).collect());
    for _ in 0..2 {
        fixture.ask(asked.clone()).await;
    }
    let sent = server.requests();
    assert_eq!(sent[0].body, sent[1].body);
    assert_eq!(sent[0].head, sent[1].head);
}

// spec: llm/S54
#[tokio::test]
async fn a_server_that_knows_nothing_of_thinking_is_told_nothing_of_it() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::with(&server, |config| config.thinking = Some(Thinking::Omitted)).await;
    let mut title = request();
    title.purpose = Some(Purpose::SessionTitle);
    for request in [request(), title] {
        fixture.ask(request).await;
    }
    for request in server.requests() {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert!(body.get("thinking").is_none() && body.get("reasoning_effort").is_none(), "{body}");
    }
    let mut effort = request();
    effort.config.reasoning_effort = Some("high".to_owned());
    assert_eq!(fixture.fail(effort).await.code, "UNSUPPORTED_REASONING_EFFORT");
}
