//! Registrations from several threads at once.

use std::sync::{Arc, Barrier};

use dsh_tools::{Mode, RegisterError, ToolRuntime};

use crate::fixture::{Fixture, marked, names};

const ROUNDS: usize = 100;

// spec: cases/T6, tools/T13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_threads_that_register_one_name_one_wins_and_the_other_is_told_who_has_it() {
    let fixture = Fixture::new().await;
    let owner = fixture.app.fiber().label();
    for round in 0..ROUNDS {
        let gate = Arc::new(Barrier::new(2));
        let racing = ["one", "two"].map(|who| {
            let (gate, handle, ctx) = (gate.clone(), fixture.handle.clone(), (**fixture.app).clone());
            std::thread::spawn(move || {
                gate.wait();
                handle.get().unwrap().register(&ctx, marked("t", who)).map(|effect| (who, effect))
            })
        });
        let ended = racing.map(|thread| thread.join().unwrap());
        let (won, lost): (Vec<_>, Vec<_>) = ended.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 1), "round {round}");
        let (who, effect) = won.into_iter().next().unwrap().unwrap();
        assert_eq!(fixture.said("t", None).as_deref(), Some(who));
        let Err(RegisterError::Taken { name, owner: held_by, .. }) = &lost[0] else { panic!("{lost:?}") };
        assert_eq!((name.as_str(), held_by), ("t", &owner));
        effect.dispose().await;
        assert_eq!(fixture.names(None), [""; 0]);
    }
}

// spec: tools/T28
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_threads_that_present_one_scope_one_wins_and_the_other_is_told_how_it_is() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    for _ in 0..ROUNDS {
        let gate = Arc::new(Barrier::new(2));
        let racing = [Mode::Code, Mode::Both].map(|mode| {
            let (gate, handle, ctx) = (gate.clone(), fixture.handle.clone(), agent.context().clone());
            std::thread::spawn(move || {
                gate.wait();
                handle.get().unwrap().present(&ctx, mode)
            })
        });
        let ended = racing.map(|thread| thread.join().unwrap());
        let mode = fixture.tools().mode(Some(agent.key()));
        let other = if mode == Mode::Code { Mode::Both } else { Mode::Code };
        let mut won = None;
        for result in ended {
            match result {
                Ok(effect) => assert!(won.replace(effect).is_none()),
                Err(RegisterError::Presented { wanted, present, .. }) => {
                    assert_eq!((wanted, present), (other, mode))
                }
                Err(error) => panic!("{error}"),
            }
        }
        won.unwrap().dispose().await;
        assert_eq!(fixture.tools().mode(Some(agent.key())), Mode::Native);
    }
}

// spec: tools/T2, tools/T5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_closes_while_others_register_for_it_leaves_nothing() {
    let fixture = Fixture::new().await;
    for _ in 0..ROUNDS {
        let agent = fixture.app.scope().unwrap();
        let gate = Arc::new(Barrier::new(2));
        let (other, handle, ctx) = (gate.clone(), fixture.handle.clone(), agent.context().clone());
        let registering = tokio::task::spawn_blocking(move || {
            other.wait();
            let tools = handle.get().unwrap();
            (0..8).filter(|n| tools.register(&ctx, marked(format!("t{n}"), "scoped")).is_ok()).count()
        });
        gate.wait();
        assert!(agent.close().await.is_clean());
        let registered = registering.await.unwrap();
        assert!(registered <= 8);
        let seen = |tools: &ToolRuntime| names(tools, Some(agent.key()));
        assert_eq!(seen(&fixture.tools()), [""; 0]);
        assert!(format!("{:?}", fixture.tools()).contains("scopes: 0"));
    }
    fixture.app.assert_no_errors();
}
