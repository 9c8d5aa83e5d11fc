//! The way through a proxy.

use dsh_llm_deepseek::ProxyUrl;

use crate::credentials::in_a_process_with;
use crate::fixture::{Fixture, KEY, request, text};
use crate::server::Server;

#[tokio::test]
async fn a_proxy_of_the_configuration_is_asked_for_the_server() {
    let proxy = Server::saying("hi").await;
    let url = proxy.base.replace("http://", "http://me:hunter2@").replace("/v1", "");
    let fixture =
        Fixture::at("http://model.invalid/v1", |config| config.proxy = Some(ProxyUrl::new(url))).await;
    assert_eq!(text(&fixture.ask(request()).await), "hi");
    let request = proxy.request();
    assert_eq!(request.path(), "http://model.invalid/v1/chat/completions");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.header("proxy-authorization"), Some("Basic bWU6aHVudGVyMg=="));
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_not_used() {
    let test = "proxy::a_proxy_of_the_environment_is_not_used";
    let nobody = "http://127.0.0.1:9";
    if in_a_process_with(test, &[("HTTP_PROXY", nobody), ("http_proxy", nobody), ("ALL_PROXY", nobody)])
        .await
        .is_some()
    {
        return;
    }
    let server = Server::saying("hi").await;
    assert_eq!(text(&Fixture::new(&server).await.ask(request()).await), "hi");
}
