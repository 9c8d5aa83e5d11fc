//! Names and routes of the events.

use std::sync::{Arc, Mutex};

use cordis::Event;
use cordis::testing::TestApp;
use dsh_agent::testing::agent;
use dsh_agent::{
    AGENTS, Agent, AgentStatus, CREATED, DISPOSED, PRE_STEP, PreStep, PreStepDecision, SESSION_START, STATUS,
    SessionSource, SessionStart, StatusChange, TURN_STOPPING, TurnStopping,
};
use dsh_session::Session;
use tokio_util::sync::CancellationToken;

type Heard = Arc<Mutex<Vec<String>>>;

fn listen(heard: &Heard, agent: &Agent) {
    let (ctx, name) = (agent.context(), agent.id().to_string());
    let note = |event: &'static str| {
        let (heard, name) = (heard.clone(), name.clone());
        move || heard.lock().unwrap().push(format!("{name} hears {event}"))
    };
    let (created, disposed, status, step) =
        (note("created"), note("disposed"), note("status"), note("pre-step"));
    let (start, stopping) = (note("session-start"), note("turn-stopping"));
    ctx.on(SESSION_START).run(move |_| start()).unwrap();
    ctx.on(TURN_STOPPING)
        .run_boxed(move |_| {
            stopping();
            Box::pin(std::future::ready(Ok(None)))
        })
        .unwrap();
    ctx.on(CREATED)
        .run(move |_| {
            created();
            Ok(())
        })
        .unwrap();
    ctx.on(DISPOSED).run(move |_| disposed()).unwrap();
    ctx.on(STATUS).run(move |_| status()).unwrap();
    ctx.on(PRE_STEP)
        .run_boxed(move |args, next| {
            step();
            Box::pin(next.run(args))
        })
        .unwrap();
}

#[test]
fn the_names_are_the_references() {
    assert_eq!(AGENTS.name(), "agents");
    assert_eq!(
        [CREATED.name(), DISPOSED.name(), STATUS.name(), PRE_STEP.name()],
        ["agent/created", "agent/disposed", "agent/status", "agent/pre-step"]
    );
    assert_eq!([SESSION_START.name(), TURN_STOPPING.name()], ["agent/session-start", "agent/turn-stopping"]);
    assert_eq!(
        serde_json::to_value([SessionSource::Startup, SessionSource::Resume]).unwrap(),
        serde_json::json!([SessionSource::Startup.as_str(), SessionSource::Resume.as_str()])
    );
}

#[tokio::test]
async fn events_of_an_agent_are_heard_by_its_own_listeners_and_not_by_anothers() {
    let app = TestApp::new();
    let (ada, _) = agent(&app, Session::detached("ada")).unwrap();
    let (bob, _) = agent(&app, Session::detached("bob")).unwrap();
    let heard = Heard::default();
    listen(&heard, &ada);
    listen(&heard, &bob);
    app.announce(CREATED, &ada).unwrap();
    app.emit(SESSION_START, &SessionStart { agent: ada.clone(), source: SessionSource::Startup });
    app.emit(STATUS, &StatusChange { agent: ada.clone(), status: AgentStatus::Running });
    let mut step = PreStep {
        agent: ada.clone(),
        messages: Vec::new(),
        turn: 1,
        step: 1,
        cancellation: CancellationToken::new(),
    };
    let decision = app
        .waterfall(PRE_STEP, &mut step, &(), async |(), step| PreStepDecision::Enter {
            messages: step.messages.clone(),
        })
        .await
        .unwrap();
    assert_eq!(decision, PreStepDecision::Enter { messages: Vec::new() });
    let stopping = TurnStopping { agent: ada.clone(), turn: 1, cancellation: CancellationToken::new() };
    assert!(app.serial(TURN_STOPPING, &stopping).await.unwrap().is_none());
    app.emit(DISPOSED, &ada);
    assert_eq!(
        *heard.lock().unwrap(),
        ["created", "session-start", "status", "pre-step", "turn-stopping", "disposed"]
            .map(|event| format!("ada hears {event}"))
    );
}
