//! Who stands behind a call.

use dsh_enrichment_policy::{CallerConfig, Config};
use dsh_tools::Caller;

use crate::fixture::{Fixture, call, caller};

fn ada_has_a_caller(agent_role: Option<&str>) -> Config {
    let Caller { id, name, role } = caller("Grace");
    let callers = [("ada".to_owned(), CallerConfig { id, name, role })].into();
    Config { callers, agent_role: agent_role.map(str::to_owned) }
}

#[tokio::test]
async fn the_caller_of_an_agent_is_the_one_that_is_configured_for_it() {
    let fixture = Fixture::new(ada_has_a_caller(None)).await;
    assert_eq!(fixture.carried(call().agent(&fixture.agent("ada"))).await.caller, Some(caller("Grace")));
    assert_eq!(fixture.carried(call().agent(&fixture.agent("ben"))).await.caller, None);
    assert_eq!(fixture.carried(call()).await.caller, None);
}

#[tokio::test]
async fn other_agents_stand_behind_their_calls_themselves_if_agents_have_a_role() {
    let fixture = Fixture::new(ada_has_a_caller(Some("worker"))).await;
    assert_eq!(fixture.carried(call().agent(&fixture.agent("ada"))).await.caller, Some(caller("Grace")));
    let ben = Caller { id: "ben".to_owned(), name: "ben".to_owned(), role: "worker".to_owned() };
    assert_eq!(fixture.carried(call().agent(&fixture.agent("ben"))).await.caller, Some(ben));
    assert_eq!(fixture.carried(call()).await.caller, None);
}

#[tokio::test]
async fn a_call_that_brings_a_caller_keeps_it() {
    let fixture = Fixture::new(ada_has_a_caller(Some("worker"))).await;
    let request = call().agent(&fixture.agent("ada")).with(caller("Linus"));
    assert_eq!(fixture.carried(request).await.caller, Some(caller("Linus")));
}
