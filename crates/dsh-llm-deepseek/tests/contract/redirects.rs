//! Servers that send a request elsewhere.

use crate::fixture::{Fixture, KEY, request, text};
use crate::server::{Reply, Server};

fn to(status: u16, location: &str) -> Reply {
    Reply::new(&format!("{status} X"), &[("location", location)], "")
}

// spec: llm/S52
#[tokio::test]
async fn a_redirect_that_keeps_the_body_is_followed() {
    for status in [307, 308] {
        let server = Server::start(vec![to(status, "/other/path"), Reply::says("hi")]).await;
        let fixture = Fixture::new(&server).await;
        assert_eq!(text(&fixture.ask(request()).await), "hi");
        let [first, second] = server.requests().try_into().unwrap();
        assert_eq!(second.path(), "/other/path");
        assert_eq!(second.body, first.body);
        assert_eq!(second.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    }
}

#[tokio::test]
async fn the_key_stays_behind_on_the_way_to_another_server() {
    let other = Server::saying("hi").await;
    let server = Server::start(vec![to(308, &format!("{}/x", other.base))]).await;
    let fixture = Fixture::new(&server).await;
    assert_eq!(text(&fixture.ask(request()).await), "hi");
    let request = other.request();
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.body, server.request().body);
}

#[tokio::test]
async fn a_redirect_that_would_lose_the_body_is_an_error_that_names_where_it_leads() {
    for status in [301, 302, 303] {
        let server = Server::start(vec![to(status, "/other/path?secret=1")]).await;
        let failure = Fixture::new(&server).await.fail(request()).await;
        assert_eq!((failure.code, failure.status), (format!("HTTP_{status}"), Some(status)));
        assert!(
            failure.message.contains("/other/path") && !failure.message.contains("secret"),
            "{}",
            failure.message
        );
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_without_a_place_to_go_is_an_error() {
    let server = Server::start(vec![Reply::new("302 X", &[], "")]).await;
    assert_eq!(Fixture::new(&server).await.fail(request()).await.code, "HTTP_302");
}

#[tokio::test]
async fn redirects_without_end_are_given_up() {
    let server = Server::start(vec![to(308, "/v1/again")]).await;
    let failure = Fixture::new(&server).await.fail(request()).await;
    assert_eq!(failure.code, "HTTP_308");
    assert_eq!(server.requests().len(), 11);
}
