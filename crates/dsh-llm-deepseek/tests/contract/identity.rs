//! The random id of this installation.

use std::fs;

use cordis::log::Recent;
use tracing_subscriber::layer::SubscriberExt;

use crate::fixture::{Fixture, request};
use crate::server::Server;

const ID: &str = "x-deepseek-harness-user-id";

// spec: llm/S52
#[tokio::test]
async fn an_id_is_made_once_for_its_owner_alone_and_kept() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::with(&server, |config| {
        let file = config.anonymous_id_file.take().unwrap();
        config.anonymous_id_file = Some(file.with_file_name("home").join("id"));
    })
    .await;
    fixture.ask(request()).await;
    fixture.plugin.restart().await.unwrap();
    fixture.ask(request()).await;
    let file = fixture.folder.path().join("home/id");
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept.len(), 37);
    let sent: Vec<String> =
        server.requests().iter().map(|request| request.header(ID).unwrap().to_owned()).collect();
    assert_eq!(sent, [kept.trim(), kept.trim()]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    fixture.app.assert_no_errors();
}

// spec: llm/S52
#[tokio::test]
async fn a_file_that_cannot_be_used_is_left_alone_and_another_id_is_sent() {
    let recent = Recent::new(10_000);
    let subscriber = tracing_subscriber::registry().with(recent.layer());
    let _recorded = tracing::subscriber::set_default(subscriber);
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    fs::write(fixture.id_file(), "not an id").unwrap();
    fixture.ask(request()).await;
    fixture.ask(request()).await;
    let sent: Vec<String> =
        server.requests().iter().map(|request| request.header(ID).unwrap().to_owned()).collect();
    assert_eq!(sent[0].len(), 36);
    assert_eq!(sent[0], sent[1]);
    assert_eq!(fs::read_to_string(fixture.id_file()).unwrap(), "not an id");
    let warnings = recent.records().into_iter().filter(|record| record.level == "warn");
    let plugins: Vec<String> = warnings.map(|record| record.plugin.unwrap()).collect();
    assert_eq!(plugins.len(), 1, "{plugins:?}");
    assert!(plugins[0].starts_with("llm-deepseek#"), "{plugins:?}");
}
