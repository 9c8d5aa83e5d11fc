//! What is unloaded while agents work.

use cordis::State;
use dsh_agent::{AGENTS, AgentError, CreateAgent};
use dsh_llm::testing::{Answer, Gate};
use dsh_session::{CancelCause, TurnEndReason};
use serde_json::json;

use crate::fixture::{Fixture, Heard, begins, calls, endings, options, raw, said, texts};

// spec: agent-loop/S29, agent-loop/S28, design/P1
#[tokio::test]
async fn the_loop_ends_all_its_agents_and_waits_for_them() {
    let gates: Vec<Gate> = (0..3).map(|_| Gate::new()).collect();
    let fixture = Fixture::new(gates.iter().map(|gate| begins("half").wait(gate))).await;
    let mut agents = Vec::new();
    for id in ["a", "b", "c"] {
        let agent = fixture.agent(id).await;
        agent.followup(said("go")).unwrap();
        agents.push(agent);
    }
    for gate in &gates {
        gate.reached().await;
    }
    let disposed = fixture.agent_loop.dispose().await;
    assert!(disposed.is_clean(), "{disposed:?}");
    for agent in &agents {
        assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::Disposed {} }]);
        assert!(agent.scope().is_closed());
    }
    let registry = fixture.app.get(AGENTS).unwrap();
    assert_eq!(registry.get().unwrap().list(), []);
    let nobody = fixture.agents().create(&fixture.app, CreateAgent::new("d")).await.unwrap_err();
    assert!(matches!(nobody, AgentError::NoLoop), "{nobody}");
}

// spec: agent-loop/S29, agent-loop/S24
#[tokio::test]
async fn what_is_being_made_when_the_loop_goes_is_not_made() {
    let fixture = Fixture::new([]).await;
    let (entered, inside) = tokio::sync::oneshot::channel::<()>();
    let hangs = CreateAgent::new("a").setup(|_| async move {
        drop(entered);
        std::future::pending().await
    });
    let agents = fixture.agents();
    let heard = Heard::default();
    heard.listen(&fixture.app);
    let (made, disposed) = tokio::join!(agents.create(&fixture.app, hangs), async {
        let _ = inside.await;
        fixture.agent_loop.dispose().await
    });
    assert!(matches!(made, Err(AgentError::LoopGone { .. } | AgentError::Ended { .. })), "{made:?}");
    assert!(disposed.is_clean(), "{disposed:?}");
    fixture.app.quiet().await;
    assert_eq!(heard.all(), Vec::<String>::new());
}

// spec: agent-loop/S28, agent-loop/S29
#[tokio::test]
async fn the_tools_go_after_the_agents_that_use_them() {
    let fixture = Fixture::new([calls(&[("c1", "slow", json!({}))]), Answer::text("never")]).await;
    let agent = fixture.agent("a").await;
    let entered = tokio_util::sync::CancellationToken::new();
    let inside = entered.clone();
    let body = move |_, run: dsh_tools::ToolRun| {
        let inside = inside.clone();
        async move {
            inside.cancel();
            run.cancellation().cancelled().await;
            Ok(json!("stopped"))
        }
    };
    fixture.offer(&fixture.app, raw("slow").run(body));
    agent.followup(said("go")).unwrap();
    entered.cancelled().await;
    fixture.agent_loop.dispose().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::Disposed {} }]);
    let results = agent.session().events().iter().filter(|event| event.kind() == "tool/result").count();
    assert_eq!(results, 1);
}

// spec: agent-loop/S29
#[tokio::test]
async fn the_loop_can_be_loaded_again_and_makes_agents_again() {
    let fixture = Fixture::new(["one", "two"].map(Answer::text)).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    fixture.agent_loop.restart().await.unwrap();
    assert_eq!(fixture.agent_loop.state(), State::Active);
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "two"]);
    let second = fixture.app.plugin(dsh_agent_loop::plugin(), dsh_agent_loop::Config::default());
    let failed = second.unwrap().ready().await.unwrap_err();
    fixture.app.quiet().await;
    fixture.app.take_errors();
    assert!(cordis::chain(&failed).contains("already"), "{}", cordis::chain(&failed));
}

// spec: agent-loop/S28, agent-loop/S39, design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_agent_that_others_speak_to_while_it_ends_begins_nothing_afterwards() {
    for _ in 0..200 {
        let fixture = Fixture::new((0..8).map(|_| Answer::text("ok"))).await;
        let agent = fixture.agent("a").await;
        let speaking: Vec<_> = (0..3)
            .map(|_| {
                let agent = agent.agent().clone();
                std::thread::spawn(move || {
                    for _ in 0..20 {
                        if agent.followup(said("go")).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        agent.dispose().await;
        let after = agent.session().len();
        assert_eq!(agent.status(), dsh_agent::AgentStatus::Idle);
        assert!(dsh_session::closers(&agent.session().events()).is_empty());
        for thread in speaking {
            thread.join().unwrap();
        }
        // A message may still have been put in, but nothing is done about it.
        let events = agent.session().events();
        assert!(events.from(after as usize).all(|event| event.kind() == "agent/inbox/spliced"));
        fixture.app.shutdown().await;
    }
}

// spec: agent-loop/S28, agent-loop/S34, cases/L9
#[tokio::test]
async fn a_tool_that_ends_its_own_agent_or_the_one_above_it_does_not_wait_for_itself() {
    for of_parent in [false, true] {
        let fixture = Fixture::new([calls(&[("c1", "end", json!({}))]), Answer::text("never")]).await;
        let root = std::sync::Arc::new(fixture.agent("root").await);
        let request = CreateAgent::new("child").options(options());
        let child = std::sync::Arc::new(fixture.agents().create(root.context(), request).await.unwrap());
        let ended = if of_parent { root.clone() } else { child.clone() };
        let body = move |_, _: dsh_tools::ToolRun| {
            let ended = ended.clone();
            async move {
                assert!(ended.dispose().await.requested);
                Ok(json!("ended"))
            }
        };
        fixture.offer(&fixture.app, raw("end").run(body));
        child.followup(said("go")).unwrap();
        child.when_idle().await;
        let disposed = if of_parent { root.dispose().await } else { child.dispose().await };
        assert!(disposed.is_clean(), "{disposed:?}");
        assert!(dsh_session::closers(&child.session().events()).is_empty());
        if !of_parent {
            let aborted = TurnEndReason::Aborted { reason: CancelCause::Disposed {} };
            assert_eq!(endings(child.session()), [aborted]);
        }
        assert_eq!(fixture.agents().list().len(), usize::from(!of_parent));
    }
}
