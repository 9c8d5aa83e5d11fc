//! Events of agents that are out of place.

use std::sync::Arc;

use cordis::meta::Report;
use dsh_agent::{
    AGENTS, Agent, AgentStatus, CREATED, DISPOSED, INBOX_CLAIMED, InboxClaim, STATUS, StatusChange, Target,
};
use dsh_agent_loop_invariants::Violation;
use dsh_agent_loop_invariants::testing::watch;
use dsh_llm::{ContentBlock, Message};
use dsh_session::{TurnEnd, TurnEndReason, TurnStart};

use crate::fixture::{Fixture, driven, log};

fn ada() -> String {
    "ada".to_owned()
}

fn told(fixture: &Fixture, agent: &Agent, status: AgentStatus) {
    fixture.app.emit(STATUS, &StatusChange { agent: agent.clone(), status });
}

fn repeated(status: &'static str) -> Violation {
    Violation::StatusRepeated { agent: ada(), status }
}

/// The reports of the plugin, which arrive by themselves.
async fn reports(fixture: &Fixture) -> Vec<(String, String)> {
    fixture.app.quiet().await;
    let reports: Vec<Report> = fixture.app.take_errors();
    reports.into_iter().map(|report| (report.step, report.message)).collect()
}

// spec: agent-loop/S7
#[tokio::test]
async fn a_status_that_is_the_one_before_is_reported() {
    let fixture = Fixture::new().await;
    let (ada, bob) = (fixture.agent("ada"), fixture.agent("bob"));
    told(&fixture, &ada, AgentStatus::Running);
    told(&fixture, &bob, AgentStatus::Running);
    told(&fixture, &ada, AgentStatus::Idle);
    told(&fixture, &ada, AgentStatus::Running);
    assert_eq!(fixture.watched.take(), []);
    told(&fixture, &ada, AgentStatus::Running);
    assert_eq!(fixture.watched.take(), [repeated("running")]);
    told(&fixture, &ada, AgentStatus::Idle);
    told(&fixture, &ada, AgentStatus::Idle);
    assert_eq!(fixture.watched.take(), [repeated("idle")]);
    let texts =
        ["running", "idle"].map(|status| format!("agent `ada` is told to be {status}, which it was already"));
    assert_eq!(reports(&fixture).await, texts.map(|text| ("agent/status".to_owned(), text)));
}

// spec: agent-loop/S7
#[tokio::test]
async fn an_agent_begins_idle_and_one_that_was_there_before_the_plugin_as_it_likes() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    fixture.app.announce(CREATED, &ada).unwrap();
    told(&fixture, &ada, AgentStatus::Idle);
    assert_eq!(fixture.watched.take(), [repeated("idle")]);

    let bob = fixture.agent("bob");
    told(&fixture, &bob, AgentStatus::Running);
    fixture.app.announce(CREATED, &bob).unwrap();
    told(&fixture, &bob, AgentStatus::Idle);
    assert_eq!(fixture.watched.take(), []);

    let (app, _) = Fixture::unwatched().await;
    let eve = driven(&app, "eve", Arc::new(dsh_agent::testing::MemoryDriver::default()));
    let agents = app.get(AGENTS).unwrap();
    let registered = agents.get().unwrap().register(&app, &eve).unwrap();
    let watched = watch(&app).await;
    app.emit(STATUS, &StatusChange { agent: eve.clone(), status: AgentStatus::Idle });
    registered.dispose().await;
    assert_eq!(watched.take(), []);
}

#[tokio::test]
async fn an_agent_comes_once_and_goes_once() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    fixture.app.emit(DISPOSED, &ada);
    let gone = Violation::DisposedUnannounced { agent: "ada".to_owned() };
    assert_eq!(fixture.watched.take(), std::slice::from_ref(&gone));
    fixture.app.announce(CREATED, &ada).unwrap();
    assert_eq!(fixture.watched.take(), []);
    let again = Violation::CreatedAgain { agent: "ada".to_owned() };
    let refused = fixture.app.announce(CREATED, &ada).unwrap_err();
    assert_eq!(refused.downcast_ref::<Violation>(), Some(&again));
    assert_eq!(fixture.watched.take(), [again]);
    fixture.app.emit(DISPOSED, &ada);
    assert_eq!(fixture.watched.take(), []);
    fixture.app.emit(DISPOSED, &ada);
    assert_eq!(fixture.watched.take(), [gone]);
    let text = "agent `ada` is told to be gone, and was not told to be there";
    let report = || ("agent/disposed".to_owned(), text.to_owned());
    assert_eq!(reports(&fixture).await, [report(), report()]);
}

#[tokio::test]
async fn a_status_alone_is_not_a_coming() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    told(&fixture, &ada, AgentStatus::Running);
    fixture.app.emit(DISPOSED, &ada);
    assert_eq!(fixture.watched.take(), [Violation::DisposedUnannounced { agent: "ada".to_owned() }]);
}

#[tokio::test]
async fn an_agent_that_another_listener_refused_comes_and_goes_in_order() {
    let (app, model) = Fixture::unwatched().await;
    app.on(CREATED).run(|_: &Agent| Err("not this one".into())).unwrap();
    let watched = watch(&app).await;
    let fixture = Fixture { app, watched, model };
    let ada = fixture.agent("ada");
    let agents = fixture.app.get(AGENTS).unwrap();
    agents.get().unwrap().register(&fixture.app, &ada).unwrap_err();
    assert_eq!(fixture.watched.take(), []);
}

#[tokio::test]
async fn messages_are_taken_for_the_turn_that_is_open() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    let message = Arc::new(Message::user(vec![ContentBlock::text("hello")]));
    let taken = |turn| {
        let claim = InboxClaim { agent: ada.clone(), message: message.clone(), turn };
        fixture.app.emit(INBOX_CLAIMED, &claim);
        fixture.watched.take()
    };
    let outside =
        |turn| [Violation::ClaimedOutsideTurn { agent: "ada".to_owned(), message: message.id.clone(), turn }];
    assert_eq!(taken(1), outside(1));
    log(ada.session(), &TurnStart { turn: 1 });
    assert_eq!(taken(1), []);
    assert_eq!(taken(2), outside(2));
    log(ada.session(), &TurnEnd { turn: 1, reason: TurnEndReason::Completed {} });
    assert_eq!(taken(1), outside(1));
    ada.inbox().append(Target::NextTurn, message.clone()).unwrap();
    ada.inbox().claim(Target::NextTurn, 2).unwrap();
    assert_eq!(fixture.watched.take(), outside(2));
    let reported = reports(&fixture).await;
    assert_eq!(reported.len(), 4);
    assert!(reported.iter().all(|(step, _)| step == "agent/inbox/claimed"), "{reported:?}");
}
