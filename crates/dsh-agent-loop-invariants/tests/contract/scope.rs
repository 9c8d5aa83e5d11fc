//! The plugin on the context of one agent, and without one.

use std::sync::Arc;

use dsh_agent::testing::MemoryDriver;
use dsh_agent::{AgentStatus, STATUS, StatusChange};
use dsh_agent_loop_invariants::Violation;
use dsh_agent_loop_invariants::testing::watch;
use dsh_llm::testing::collected;
use dsh_llm::{LLM, ModelRequest};

use crate::fixture::{Fixture, begin, driven, header, log_header, request};

#[tokio::test]
async fn on_an_agents_context_it_judges_that_agent_alone() {
    let (app, _model) = Fixture::unwatched().await;
    let [ada, bob] = ["ada", "bob"].map(|id| driven(&app, id, Arc::new(MemoryDriver::default())));
    let watched = watch(ada.context()).await;
    let llm = app.get(LLM).unwrap();
    let ask = async |request: ModelRequest| {
        let stream = llm.get().unwrap().stream(request.built_by_loop());
        (collected(stream).await.is_ok(), watched.take())
    };
    assert_eq!(ask(request(bob.session())).await, (true, vec![]));
    for session_id in [None, Some("eve".to_owned())] {
        let mut strange = request(bob.session());
        strange.session_id = session_id;
        assert_eq!(ask(strange).await, (true, vec![]));
    }
    let refused = Violation::OutsideTurn { session: "ada".to_owned() };
    assert_eq!(ask(request(ada.session())).await, (false, vec![refused]));
    begin(ada.session());
    log_header(ada.session(), header());
    assert_eq!(ask(request(ada.session())).await, (true, vec![]));

    for agent in [&bob, &bob, &ada, &ada] {
        app.emit(STATUS, &StatusChange { agent: agent.clone(), status: AgentStatus::Running });
    }
    assert_eq!(watched.take(), [Violation::StatusRepeated { agent: "ada".to_owned(), status: "running" }]);
}

#[tokio::test]
async fn nothing_is_judged_any_more_when_it_is_unloaded() {
    let (app, _model) = Fixture::unwatched().await;
    let ada = driven(&app, "ada", Arc::new(MemoryDriver::default()));
    let fiber = app.plugin(dsh_agent_loop_invariants::plugin(), ()).unwrap();
    fiber.ready().await.unwrap();
    let llm = app.get(LLM).unwrap();
    let asked = async || {
        let stream = llm.get().unwrap().stream(request(ada.session()).built_by_loop());
        collected(stream).await.is_ok()
    };
    assert!(!asked().await);
    fiber.dispose().await;
    assert!(asked().await);
}
