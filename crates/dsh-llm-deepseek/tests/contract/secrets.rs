//! The key is in nothing that anybody reads.

use cordis::log::Recent;
use tracing_subscriber::layer::SubscriberExt;

use crate::credentials::in_a_process_with;
use crate::fixture::{Fixture, request};
use crate::server::{Reply, Server, Then};

const KEY: &str = "sk-hunter2-hunter2";

// spec: llm/S29
#[tokio::test]
async fn the_key_is_in_no_failure_no_record_no_debug_output_and_on_no_terminal() {
    let test = "secrets::the_key_is_in_no_failure_no_record_no_debug_output_and_on_no_terminal";
    if let Some(printed) = in_a_process_with(test, &[("DEEPSEEK_API_KEY", KEY)]).await {
        assert!(!printed.contains("hunter2"), "{printed}");
        return;
    }
    let recent = Recent::new(100_000);
    let subscriber = tracing_subscriber::registry().with(recent.layer());
    let _recorded = tracing::subscriber::set_default(subscriber);

    let echo = |status: &str| {
        Reply::new(status, &[("x-request-id", KEY)], format!("{{\"error\":{{\"message\":\"not {KEY}\"}}}}"))
    };
    let server = Server::start(vec![
        echo("401 X"),
        echo("400 X"),
        echo("500 X"),
        Reply::new("429 X", &[], KEY),
        Reply::new("302 X", &[("location", &format!("/{KEY}"))], ""),
        Reply::new("200 OK", &[], format!("data: {{{KEY}\n\n")),
        Reply::new("200 OK", &[], KEY),
        Reply::raw(format!("{KEY}\r\n\r\n"), Then::Close),
        Reply::raw("", Then::Close),
        Reply::says("hi"),
    ])
    .await;
    let fixture = Fixture::with(&server, |config| config.api_key_env = "DEEPSEEK_API_KEY".to_owned()).await;
    for number in 0..10 {
        let mut stream = fixture.stream(request());
        let mut shown = String::new();
        while let Some(chunk) = stream.next().await {
            shown.push_str(&format!("{stream:?} {chunk:?}"));
        }
        assert!(!shown.contains("hunter2"), "{number}: {shown}");
    }
    assert_eq!(server.requests().len(), 10);
    assert_eq!(server.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let shown = format!(
        "{:?} {:?} {:?}",
        fixture.llm.get().unwrap().providers(),
        fixture.plugin,
        fixture.app.inspect()
    );
    assert!(!shown.contains("hunter2"), "{shown}");
    for record in recent.records() {
        assert!(!format!("{record:?}").contains("hunter2"), "{record:?}");
    }
}
