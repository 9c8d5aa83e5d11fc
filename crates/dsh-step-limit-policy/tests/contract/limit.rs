//! How many steps a turn has.

use crate::fixture::{BLOCKED, COMPLETED, Fixture, asked, config, conversation, ends, mount};
use crate::turns::Answer::{Calls, CallsWhile, Done};

#[tokio::test]
async fn a_turn_that_stays_below_its_limit_is_as_it_would_be_without() {
    let fixture = Fixture::limited(3).await;
    let ada = fixture.agent("ada", [Calls, Done]);
    asked(&ada, "hello").await;
    assert_eq!(conversation(&ada), ["hello", "calls", "done"]);
    assert_eq!(ends(&ada), [COMPLETED]);
}

#[tokio::test]
async fn a_turn_that_is_done_with_its_last_step_is_completed() {
    let fixture = Fixture::limited(3).await;
    let ada = fixture.agent("ada", [Calls, Calls, Done]);
    asked(&ada, "hello").await;
    assert_eq!(conversation(&ada), ["hello", "calls", "calls", "…", "done"]);
    assert_eq!(ends(&ada), [COMPLETED]);
}

#[tokio::test]
async fn a_step_past_the_limit_is_refused_and_the_turn_is_blocked() {
    let fixture = Fixture::limited(3).await;
    let ada = fixture.agent("ada", []);
    asked(&ada, "hello").await;
    assert_eq!(conversation(&ada), ["hello", "calls", "calls", "…", "calls"]);
    assert_eq!(ends(&ada), [BLOCKED]);
}

#[tokio::test]
async fn every_turn_has_all_of_its_steps() {
    let fixture = Fixture::limited(2).await;
    let ada = fixture.agent("ada", [Calls, Calls, Calls, Done]);
    asked(&ada, "one").await;
    asked(&ada, "two").await;
    assert_eq!(conversation(&ada), ["one", "calls", "…", "calls", "two", "calls", "…", "done"]);
    assert_eq!(ends(&ada), [BLOCKED, COMPLETED]);
}

#[tokio::test]
async fn a_limit_of_one_step_answers_once() {
    let fixture = Fixture::limited(1).await;
    let ada = fixture.agent("ada", [Done]);
    asked(&ada, "one").await;
    asked(&ada, "two").await;
    assert_eq!(conversation(&ada), ["one", "…", "done", "two", "…", "calls"]);
    assert_eq!(ends(&ada), [COMPLETED, BLOCKED]);
}

#[tokio::test]
async fn mounted_on_an_agents_context_it_is_for_that_agent_alone() {
    let fixture = Fixture::bare().await;
    let ada = fixture.agent("ada", []);
    let bob = fixture.agent("bob", [Calls, Calls, Calls, Done]);
    mount(ada.context(), 1).await;
    asked(&ada, "hello").await;
    asked(&bob, "hello").await;
    assert_eq!((ends(&ada), ends(&bob)), (vec![BLOCKED], vec![COMPLETED]));
    assert_eq!(conversation(&bob), ["hello", "calls", "calls", "calls", "done"]);
}

#[tokio::test]
async fn of_two_limits_the_lower_one_counts() {
    for (of_all, own) in [(1, 2), (2, 1)] {
        let fixture = Fixture::limited(of_all).await;
        let ada = fixture.agent("ada", []);
        mount(ada.context(), own).await;
        asked(&ada, "hello").await;
        assert_eq!(conversation(&ada), ["hello", "…", "calls"]);
        assert_eq!(ends(&ada), [BLOCKED]);
    }
}

/// Waits for something in the middle of a step.
fn now(work: impl Future<Output = ()>) {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_limit_holds_from_the_next_step_on_and_none_when_it_is_unloaded() {
    let fixture = Fixture::bare().await;
    let fiber = mount(&fixture.app, 2).await;
    let (raised, unloaded) = (fiber.clone(), fiber);
    let raise = CallsWhile(Box::new(move |_| {
        now(async move { raised.update(config(4)).await.unwrap() });
    }));
    let unload = CallsWhile(Box::new(move |_| {
        now(async move { drop(unloaded.dispose().await) });
    }));
    let ada = fixture.agent("ada", [Calls, raise, Calls, unload, Calls, Calls, Done]);
    asked(&ada, "hello").await;
    let expected = ["hello", "calls", "…", "calls", "calls", "…", "calls", "calls", "calls", "done"];
    assert_eq!(conversation(&ada), expected);
    assert_eq!(ends(&ada), [COMPLETED]);
}
