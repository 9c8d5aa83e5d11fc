//! What is contributed for one agent.

use std::sync::Arc;

use dsh_agent::Agent;
use dsh_agent::testing::{MemoryDriver, parts};
use dsh_session::Session;

use crate::fixture::{Fixture, giving, pairs};

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn what_is_contributed_for_one_agent_only_its_commands_find() {
    let fixture = Fixture::new().await;
    let (ada, bob) = (fixture.agent("ada"), fixture.agent("bob"));
    fixture.env().register(&fixture.app, giving("all", &[("A", "all"), ("B", "all")])).unwrap();
    fixture.env().register(ada.context(), giving("one", &[("B", "ada"), ("C", "ada")])).unwrap();
    assert_eq!(fixture.contributed(Some(&ada)), pairs(&[("A", "all"), ("B", "ada"), ("C", "ada")]));
    assert_eq!(fixture.contributed(Some(&bob)), pairs(&[("A", "all"), ("B", "all")]));
    assert_eq!(fixture.contributed(None), pairs(&[("A", "all"), ("B", "all")]));
    ada.context().fiber().dispose().await;
    assert_eq!(fixture.contributed(Some(&ada)), pairs(&[("A", "all"), ("B", "all")]));
}

#[tokio::test]
async fn of_two_contributors_of_one_name_the_nearer_one_is_seen() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    let scope = fixture.app.scope_under(ada.scope()).unwrap();
    let child = Agent::new(parts(Session::detached("child"), scope, Arc::new(MemoryDriver::default())));
    fixture.env().register(&fixture.app, giving("x", &[("A", "all"), ("B", "all")])).unwrap();
    fixture.env().register(ada.context(), giving("y", &[("B", "ada"), ("C", "ada")])).unwrap();
    fixture.env().register(child.context(), giving("x", &[("C", "child")])).unwrap();
    assert_eq!(fixture.contributed(Some(&ada)), pairs(&[("A", "all"), ("B", "ada"), ("C", "ada")]));
    assert_eq!(fixture.contributed(Some(&child)), pairs(&[("B", "ada"), ("C", "child")]));
}
