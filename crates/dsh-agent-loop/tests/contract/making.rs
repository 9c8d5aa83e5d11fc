//! Agents that are asked for: what is set up before anybody hears of them, and what is taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use cordis::{BoxError, Emit, Next};
use dsh_agent::{AGENTS, Agent, AgentError, AgentId, CREATED, CreateAgent, SESSION_START};
use dsh_agent_loop::AGENT_LOOP;
use dsh_llm::testing::{Answer, Gate};
use dsh_session::{CancelCause, CreateSession, SESSIONS, TurnEndReason};
use dsh_tools::{PRE_EXECUTE, PreDecision, ToolCall};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, Heard, begins, calls, endings, options, said, texts};

const PING: Emit<()> = Emit::new("test/ping");

/// That nothing of an agent is left, and its id can be used.
async fn nothing_is_left(fixture: &Fixture, id: &str) {
    assert_eq!(fixture.agents().get(&AgentId::from(id)), None);
    assert!(fixture.app.get(SESSIONS).unwrap().get().unwrap().get(id).is_none());
    assert_eq!(fixture.app.listeners(PING), 0);
    let again = fixture.agents().create(&fixture.app, CreateAgent::new(id)).await.unwrap();
    again.dispose().await;
    // Nobody waits for the end of an agent whose request was dropped.
    let loops = fixture.app.get(AGENT_LOOP).unwrap();
    let agents = || format!("{:?}", &*loops.get().unwrap());
    for _ in 0..1_000 {
        if agents() != "AgentLoops { agents: 0, .. }" {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(agents(), "AgentLoops { agents: 0, .. }");
}

// spec: agent-loop/S22, agent-loop/S23, agent-loop/S24
#[tokio::test]
async fn everything_is_set_up_before_anybody_hears_of_the_agent() {
    let fixture = Fixture::new([]).await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    let (told, agents) = (heard.clone(), fixture.agents());
    let request = CreateAgent::new("a")
        .setup(move |ctx| async move {
            told.say("set up");
            assert_eq!(agents.list(), []);
            ctx.on(PING).run(|()| ())?;
            tokio::task::yield_now().await;
            Ok(())
        })
        .commit({
            let told = heard.clone();
            move || {
                told.say("committed");
                Ok(())
            }
        });
    let agent = fixture.agents().create(&fixture.app, request).await.unwrap();
    assert_eq!(heard.all(), ["set up", "committed", "created a", "start startup"]);
    assert_eq!(fixture.agents().get(agent.id()).as_ref(), Some(agent.agent()));
    agent.dispose().await;
    assert_eq!(heard.take().split_off(4), ["disposed a"]);
    nothing_is_left(&fixture, "a").await;
}

// spec: agent-loop/S24, agent-loop/S22
#[tokio::test]
async fn a_set_up_that_fails_is_rolled_back_and_nobody_hears() {
    let fixture = Fixture::new([]).await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    let fails = CreateAgent::new("a").setup(|ctx| async move {
        ctx.on(PING).run(|()| ())?;
        Err("not today".into())
    });
    let error = fixture.agents().create(&fixture.app, fails).await.unwrap_err();
    assert!(matches!(&error, AgentError::Setup { source, .. } if source.to_string() == "not today"));
    let refuses = CreateAgent::new("a").setup(|_| async { Ok(()) }).commit(|| Err("nor now".into()));
    let error = fixture.agents().create(&fixture.app, refuses).await.unwrap_err();
    assert!(matches!(&error, AgentError::Setup { source, .. } if source.to_string() == "nor now"));
    assert_eq!(heard.all(), Vec::<String>::new());
    nothing_is_left(&fixture, "a").await;
}

// spec: agent-loop/S21, agent-loop/S24
#[tokio::test]
async fn a_request_can_be_cancelled_as_long_as_the_agent_is_not_made() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let token = CancellationToken::new();
    token.cancel();
    let early = CreateAgent::new("a").cancelled_by(token);
    assert!(matches!(fixture.agents().create(&fixture.app, early).await, Err(AgentError::Cancelled { .. })));
    let (token, (entered, mut inside)) = (CancellationToken::new(), oneshot::channel::<()>());
    let hangs = CreateAgent::new("a").cancelled_by(token.clone()).setup(|ctx| async move {
        ctx.on(PING).run(|()| ())?;
        drop(entered);
        std::future::pending::<Result<(), BoxError>>().await
    });
    let agents = fixture.agents();
    let making = agents.create(&fixture.app, hangs);
    tokio::pin!(making);
    tokio::select! {
        _ = &mut making => panic!("it hangs"),
        _ = &mut inside => (),
    }
    token.cancel();
    assert!(matches!(making.await, Err(AgentError::Cancelled { .. })));
    nothing_is_left(&fixture, "a").await;
    // Afterwards it cancels nothing.
    let token = CancellationToken::new();
    let request = CreateAgent::new("b").options(options()).cancelled_by(token.clone());
    let agent = fixture.agents().create(&fixture.app, request).await.unwrap();
    token.cancel();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "ok"]);
}

// spec: agent-loop/S24
#[tokio::test]
async fn a_request_that_is_dropped_leaves_nothing() {
    let fixture = Fixture::new([]).await;
    let (entered, inside) = oneshot::channel::<()>();
    let hangs = CreateAgent::new("a").setup(|ctx| async move {
        ctx.on(PING).run(|()| ())?;
        drop(entered);
        std::future::pending::<Result<(), BoxError>>().await
    });
    let agents = fixture.agents();
    tokio::select! {
        _ = agents.create(&fixture.app, hangs) => panic!("it hangs"),
        _ = inside => (),
    }
    fixture.app.quiet().await;
    nothing_is_left(&fixture, "a").await;
}

// spec: agent-loop/S18, agent-loop/S22
#[tokio::test]
async fn a_listener_may_refuse_an_agent_which_is_then_told_to_be_gone() {
    let fixture = Fixture::new([]).await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    let refusing = fixture.app.on(CREATED).run(|_: &Agent| Err("not this one".into())).unwrap();
    let error = fixture.agents().create(&fixture.app, CreateAgent::new("a")).await.unwrap_err();
    assert!(matches!(&error, AgentError::Refused { source, .. } if source.to_string() == "not this one"));
    assert_eq!(heard.take(), ["created a", "disposed a"]);
    refusing.dispose().await;
    nothing_is_left(&fixture, "a").await;
}

// spec: agent-loop/S23
#[tokio::test]
async fn the_beginning_of_a_session_is_where_something_may_be_said_first() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    fixture.app.on(SESSION_START).run(|start| start.agent.inject(said("context")).unwrap()).unwrap();
    fixture.app.on(SESSION_START).run(|_| panic!("a listener")).unwrap();
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["context", "go", "ok"]);
    fixture.app.quiet().await;
    fixture.app.take_errors();
}

// spec: agent-loop/S25, agent-loop/S18
#[tokio::test]
async fn of_two_of_one_id_one_is_made_and_the_other_leaves_it_alone() {
    let fixture = Fixture::new([]).await;
    let slow = || {
        CreateAgent::new("a").setup(|_| async {
            tokio::task::yield_now().await;
            Ok(())
        })
    };
    let agents = fixture.agents();
    let (one, other) = tokio::join!(agents.create(&fixture.app, slow()), agents.create(&fixture.app, slow()));
    let (made, failed) = match (one, other) {
        (Ok(made), Err(failed)) | (Err(failed), Ok(made)) => (made, failed),
        _ => panic!("exactly one"),
    };
    assert!(matches!(failed, AgentError::Exists(_) | AgentError::Session { .. }), "{failed}");
    assert_eq!(agents.list(), [made.agent().clone()]);
    assert!(matches!(agents.create(&fixture.app, slow()).await, Err(AgentError::Session { .. })));
    made.dispose().await;
    nothing_is_left(&fixture, "a").await;
}

// spec: agent-loop/S19, agent-loop/S18
#[tokio::test]
async fn who_owns_an_agent_is_the_agent_on_whose_context_it_was_made() {
    let fixture = Fixture::new([]).await;
    let agents = fixture.agents();
    let root = fixture.agent("root").await;
    let child = agents.create(root.context(), CreateAgent::new("child")).await.unwrap();
    let other = fixture.agent("other").await;
    assert!(agents.is_owned_by(child.id(), root.id()));
    assert!(!agents.is_owned_by(other.id(), root.id()));
    assert_eq!(agents.list(), [root.agent().clone(), child.agent().clone(), other.agent().clone()]);
    assert_eq!(agents.roots(), [root.agent().clone(), other.agent().clone()]);
    assert_eq!(agents.of(child.context()).as_ref(), Some(child.agent()));
    assert!(child.scope().chain().contains(root.scope()));
    // It ends with its owner.
    let heard = Heard::default();
    heard.listen(&fixture.app);
    root.dispose().await;
    assert_eq!(heard.all(), ["disposed child", "disposed root"]);
    assert_eq!(agents.list(), [other.agent().clone()]);
}

// spec: agent-loop/S28, agent-loop/S75
#[tokio::test]
async fn an_agent_that_ends_is_cancelled_awaited_and_only_then_gone() {
    let gate = Gate::new();
    let fixture = Fixture::new([begins("half").wait(&gate)]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    gate.reached().await;
    let (all, own) = (Heard::default(), Heard::default());
    all.listen(&fixture.app);
    own.listen(agent.context());
    let told = all.clone();
    fixture
        .app
        .on(dsh_session::DISPOSED)
        .run(move |session| told.say(format!("session {} gone", session.id())))
        .unwrap();
    let (one, other) = tokio::join!(agent.dispose(), agent.dispose());
    assert!(one.is_clean() && other.is_clean());
    let expected =
        ["assistant/message", "step/end", "turn/end", "status idle", "disposed a", "session a gone"];
    assert_eq!(all.all(), expected);
    // Its own listeners went first.
    assert_eq!(own.all(), expected[..4]);
    assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::Disposed {} }]);
    assert!(matches!(agent.followup(said("x")), Err(dsh_agent::InboxError::Ended { .. })));
}

// spec: agent-loop/S75, agent-loop/S71
#[tokio::test]
async fn one_that_was_cancelled_before_it_ends_keeps_the_first_cause() {
    let gate = Gate::new();
    let fixture = Fixture::new([begins("half").wait(&gate)]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    gate.reached().await;
    agent.cancel(CancelCause::User {}).unwrap();
    agent.dispose().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::User {} }]);
}

// spec: agent-loop/S20
#[tokio::test]
async fn an_agent_belongs_to_whoever_asked_for_it() {
    let fixture = Fixture::new([]).await;
    let agents = fixture.agents();
    let owner = cordis::define("owner").run(async |_: &cordis::Context, (): (), (): &()| Ok(()));
    let owner = fixture.app.plugin(owner, ()).unwrap();
    owner.ready().await.unwrap();
    let agent = agents.create(&owner.context(), CreateAgent::new("a")).await.unwrap();
    assert!(agents.get(agent.id()).is_some());
    owner.dispose().await;
    nothing_is_left(&fixture, "a").await;
    let dead = agents.create(&owner.context(), CreateAgent::new("a")).await.unwrap_err();
    assert!(matches!(dead, AgentError::Inactive(_)), "{dead}");
}

// spec: agent-loop/S22, agent-loop/S28
#[tokio::test]
async fn one_that_is_ended_while_it_is_announced_ends_and_its_request_fails() {
    let fixture = Fixture::new([]).await;
    let heard = Heard::default();
    let scope = fixture.app.scope().unwrap();
    let fiber = scope.fiber();
    fixture.app.on(SESSION_START).global().run(move |_| fiber.cancel()).unwrap();
    heard.listen(&fixture.app);
    let made = fixture.agents().create(scope.context(), CreateAgent::new("a")).await;
    assert!(matches!(made, Ok(_) | Err(AgentError::Ended { .. })), "{made:?}");
    scope.close().await;
    fixture.app.quiet().await;
    assert_eq!(fixture.agents().list(), []);
    assert_eq!(heard.all(), ["created a", "start startup", "disposed a"]);
}

// spec: agent-loop/S26
#[tokio::test]
async fn one_that_needs_no_set_up_is_made_at_once() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let loops = fixture.app.get(AGENT_LOOP).unwrap();
    let made = loops.get().unwrap().create(&fixture.app, "a", options(), Some("/src".into())).unwrap();
    assert_eq!(made.session().header().cwd.as_deref(), Some("/src"));
    let twice = loops.get().unwrap().create(&fixture.app, "a", options(), None).unwrap_err();
    assert!(matches!(twice, AgentError::Session { .. }), "{twice}");
    made.followup(said("go")).unwrap();
    made.when_idle().await;
    assert_eq!(texts(made.session()), ["go", "ok"]);
}

// spec: agent-loop/S36
#[tokio::test]
async fn turns_go_on_behind_those_of_a_seed() {
    let fixture = Fixture::new(["one", "two"].map(Answer::text)).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("a")).unwrap();
    agent.when_idle().await;
    let session = CreateSession {
        id: Some("b".into()),
        seed: Some(dsh_session::Seed::from(agent.session().events())),
        ..CreateSession::default()
    };
    let request = CreateAgent::with_session(session).options(options());
    let next = fixture.agents().create(&fixture.app, request).await.unwrap();
    next.followup(said("b")).unwrap();
    next.when_idle().await;
    let starts: Vec<u64> = next
        .session()
        .events()
        .iter()
        .filter_map(|event| event.payload::<dsh_session::TurnStart>().unwrap())
        .map(|start| start.turn)
        .collect();
    assert_eq!(starts, [1, 2]);
}

// spec: agent-loop/S28
#[tokio::test]
async fn whoever_keeps_the_agent_keeps_nothing_of_it_running() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let kept = agent.agent().clone();
    let gone = Arc::new(AtomicBool::new(false));
    let told = gone.clone();
    agent.context().effect("test", async move || told.store(true, SeqCst)).unwrap();
    agent.dispose().await;
    assert!(gone.load(SeqCst));
    assert!(kept.scope().is_closed());
    assert!(fixture.app.get(AGENTS).is_some());
}

// spec: agent-loop/S28, design/P1
#[tokio::test(start_paused = true)]
async fn one_whose_listener_never_returns_is_given_up_and_nothing_of_it_stays_registered() {
    let fixture = Fixture::new([calls(&[("c1", "echo", serde_json::json!({}))])]).await;
    fixture.echo(&fixture.app, "echo");
    let (entered, inside) = oneshot::channel::<()>();
    let entered = std::sync::Mutex::new(Some(entered));
    let stuck = async |entered: &std::sync::Mutex<Option<oneshot::Sender<()>>>,
                       _: &mut ToolCall,
                       _: Next<'_, ToolCall, PreDecision>|
           -> PreDecision {
        drop(entered.lock().unwrap().take());
        std::future::pending().await
    };
    fixture.app.on(PRE_EXECUTE).with(entered).run(stuck).unwrap();
    let agent = fixture.agent("a").await;
    agent.context().on(PING).run(|()| ()).unwrap();
    agent.followup(said("go")).unwrap();
    let _ = inside.await;
    let disposed = agent.dispose().await;
    assert!(!disposed.is_clean());
    fixture.app.quiet().await;
    assert!(agent.scope().is_closed());
    nothing_is_left(&fixture, "a").await;
    fixture.app.take_errors();
}
