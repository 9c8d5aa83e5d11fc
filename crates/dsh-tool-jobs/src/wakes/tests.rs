#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::App;
use dsh_agent::testing::agent;
use dsh_session::{CreateSession, SessionStore};

use super::*;

fn spend(wakes: &Wakes, agent: &Agent) -> bool {
    wakes.begin(agent, 2).map(Wake::keep).is_some()
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn a_wake_that_did_not_take_place_is_not_spent_and_only_one_is_under_way() {
    let (app, wakes) = (App::new().unwrap(), Wakes::default());
    let (ada, _) = agent(&app, Session::detached("ada")).unwrap();
    for _ in 0..3 {
        let under_way = wakes.begin(&ada, 2);
        assert!(under_way.is_some());
        assert!(wakes.begin(&ada, 2).is_none(), "who is being woken is not idle");
    }
    assert_eq!([(); 3].map(|()| spend(&wakes, &ada)), [true, true, false]);
    // The user speaks while a wake is under way: what is given back was not taken.
    wakes.user_spoke(&ada);
    let under_way = wakes.begin(&ada, 2);
    wakes.user_spoke(&ada);
    drop(under_way);
    assert_eq!([(); 3].map(|()| spend(&wakes, &ada)), [true, true, false]);
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn an_agent_that_was_forgotten_is_not_put_back_by_what_was_under_way() {
    let (app, wakes) = (App::new().unwrap(), Wakes::default());
    let (ada, _) = agent(&app, Session::detached("ada")).unwrap();
    let (kept, given_back) = (wakes.begin(&ada, 2), wakes.begin(&ada, 2));
    assert!(kept.is_some() && given_back.is_none());
    wakes.forget(&ada);
    kept.unwrap().keep();
    assert!(wakes.agents.lock().known.is_empty());
    drop(wakes.begin(&ada, 2).inspect(|_| wakes.forget(&ada)));
    wakes.user_spoke(&ada);
    assert!(wakes.agents.lock().known.is_empty());
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn what_is_known_of_agents_that_are_gone_does_not_pile_up() {
    let (app, store, wakes) = (App::new().unwrap(), SessionStore::new(), Wakes::default());
    let mut stays = Vec::new();
    for round in 0..10 * FEW {
        let owner = app.scope().unwrap();
        let session = store.create(owner.context(), CreateSession::default()).unwrap();
        let (ada, _) = agent(&app, session).unwrap();
        assert!(spend(&wakes, &ada));
        if round < 3 {
            stays.push((owner, ada));
        } else {
            owner.close().await;
        }
        assert!(wakes.agents.lock().known.len() <= FEW);
    }
    assert!(stays.iter().all(|(_, ada)| spend(&wakes, ada) && !spend(&wakes, ada)));
}
