//! Who started the work that goes on.

use cordis::testing::TestApp;
use dsh_agent::testing::agent;
use dsh_agent::{Agent, initiator};
use dsh_session::Session;

fn named(app: &TestApp, id: &str) -> Agent {
    agent(app, Session::detached(id)).unwrap().0
}

fn current() -> Option<String> {
    initiator::current().map(|agent| agent.id().to_string())
}

// spec: agent-loop/S34
#[tokio::test]
async fn it_travels_with_the_work_and_is_what_it_was_before_afterwards() {
    let app = TestApp::new();
    let (one, two) = (named(&app, "one"), named(&app, "two"));
    assert_eq!(current(), None);
    assert!(initiator::required().is_err());
    let value = initiator::with(one.clone(), async {
        tokio::task::yield_now().await;
        assert_eq!(initiator::required().unwrap(), one);
        initiator::with(two.clone(), async {
            tokio::task::yield_now().await;
            assert_eq!(current().as_deref(), Some("two"));
        })
        .await;
        assert_eq!(current().as_deref(), Some("one"));
        initiator::without(async { assert_eq!(current(), None) }).await;
        initiator::without_now(|| assert_eq!(current(), None));
        let failed: Result<(), &str> = initiator::with_now(two.clone(), || Err("failed"));
        assert_eq!(failed, Err("failed"));
        assert_eq!(current().as_deref(), Some("one"));
        42
    })
    .await;
    assert_eq!((value, current()), (42, None));
}

// spec: agent-loop/S34
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_overlaps_has_each_its_own() {
    let app = TestApp::new();
    let work = |id: &'static str| {
        let agent = named(&app, id);
        tokio::spawn(initiator::with(agent, async move {
            for _ in 0..100 {
                tokio::task::yield_now().await;
                assert_eq!(current().as_deref(), Some(id));
            }
        }))
    };
    let (one, two) = (work("one"), work("two"));
    one.await.unwrap();
    two.await.unwrap();
    let panicked = tokio::spawn(initiator::with(named(&app, "one"), async { panic!("in it") })).await;
    assert!(panicked.is_err());
    assert_eq!(current(), None);
}
