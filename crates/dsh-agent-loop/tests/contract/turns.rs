//! Turns from the message that wakes the agent to the moment when nothing waits.

use cordis::Next;
use dsh_agent::{AgentRequest, AgentStatus, REQUEST, Requested, TURN_STOPPING, TurnStopping};
use dsh_llm::testing::{Answer, finish};
use dsh_llm::{ContentBlock, FinishReason, StreamChunk};
use dsh_session::{
    APPENDING, Appending, CancelCause, EVENT, Payload as _, SessionEvent, StepStart, TurnEndReason, TurnStart,
};
use dsh_tools::{ToolError, ToolRun};
use serde_json::json;

use crate::fixture::{Fixture, Heard, calls, ended, endings, kinds, raw, said, texts};

// spec: agent-loop/S42, agent-loop/S59, agent-loop/S66, agent-loop/S67, agent-loop/S14, agent-loop/S7
#[tokio::test]
async fn a_turn_without_tools_is_one_step_in_order() {
    let fixture = Fixture::new([Answer::text("hello")]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    agent.followup(said("hi")).unwrap();
    assert_eq!(agent.status(), AgentStatus::Running);
    agent.when_idle().await;
    assert_eq!(agent.status(), AgentStatus::Idle);
    let expected = [
        "agent/inbox/spliced",
        "inserted hi",
        "status running",
        "turn/start",
        "agent/inbox/spliced",
        "claimed hi in 1",
        "step/start",
        "user/message",
        "request/header",
        "request/context",
        "assistant/message",
        "step/end",
        "turn/end",
        "status idle",
    ];
    assert_eq!(heard.all(), expected);
    assert_eq!(texts(agent.session()), ["hi", "hello"]);
    assert!(agent.dispose().await.is_clean());
}

// spec: agent-loop/S44, agent-loop/S54, agent-loop/S79, agent-loop/S70
#[tokio::test]
async fn what_tools_give_is_asked_about_in_the_next_step() {
    let call = ("c1", "echo", json!({ "text": "pong" }));
    let fixture = Fixture::new([calls(&[call]), Answer::text("done")]).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    agent.followup(said("ping")).unwrap();
    agent.when_idle().await;
    let tail = kinds(agent.session()).split_off(8);
    let expected =
        ["tool/call", "tool/result", "step/end", "step/start", "assistant/message", "step/end", "turn/end"];
    assert_eq!(tail, expected);
    let requests = fixture.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].messages[..requests[0].messages.len()], requests[0].messages[..]);
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
}

// spec: agent-loop/S47, agent-loop/S42
#[tokio::test]
async fn each_followup_is_a_turn_of_its_own() {
    let fixture = Fixture::new(["one", "two", "three"].map(Answer::text)).await;
    let agent = fixture.agent("a").await;
    for text in ["a", "b", "c"] {
        agent.followup(said(text)).unwrap();
    }
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["a", "one", "b", "two", "c", "three"]);
    let numbers: Vec<u64> = agent
        .session()
        .events()
        .iter()
        .filter_map(|event| event.payload::<TurnStart>().unwrap())
        .map(|start| start.turn)
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
}

// spec: agent-loop/S15, agent-loop/S49
#[tokio::test]
async fn what_waits_for_a_step_is_said_before_the_message_of_the_turn() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    agent.inject(said("note")).unwrap();
    assert_eq!(agent.status(), AgentStatus::Idle);
    agent.followup(said("ask")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["note", "ask", "ok"]);
}

// spec: agent-loop/S42, agent-loop/S45
#[tokio::test]
async fn what_is_steered_while_a_tool_runs_is_said_in_the_next_step() {
    let fixture = Fixture::new([calls(&[("c1", "slow", json!({}))]), Answer::text("done")]).await;
    let agent = fixture.agent("a").await;
    let steered = agent.agent().clone();
    let body = move |_, _: ToolRun| {
        let agent = steered.clone();
        async move {
            agent.steer(said("also")).map_err(|error| ToolError::new(error.to_string()))?;
            Ok(json!("done"))
        }
    };
    fixture.offer(&fixture.app, raw("slow").run(body));
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "", "", "also", "done"]);
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
}

// spec: agent-loop/S45, agent-loop/S85
#[tokio::test]
async fn a_tool_may_end_the_turn_and_what_waits_for_a_step_is_said_first() {
    let concludes = |name| {
        raw(name).run(async |_, run: ToolRun| {
            run.conclude_turn();
            Ok(json!("over"))
        })
    };
    let fixture = Fixture::new([calls(&[("c1", "end", json!({})), ("c2", "end", json!({}))])]).await;
    fixture.offer(&fixture.app, concludes("end"));
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let kinds = kinds(agent.session());
    assert_eq!(kinds.iter().filter(|kind| *kind == "tool/result").count(), 2);
    assert_eq!(fixture.requests().len(), 1);
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);

    fixture.model.push(calls(&[("c3", "end", json!({}))]));
    fixture.model.push(Answer::text("heard"));
    let (late, once) = (agent.agent().clone(), std::sync::atomic::AtomicBool::new(false));
    let steer = fixture
        .app
        .on(dsh_tools::RESULT)
        .run(move |_| {
            if !once.swap(true, std::sync::atomic::Ordering::SeqCst) {
                late.steer(said("late")).unwrap();
            }
        })
        .unwrap();
    agent.followup(said("again")).unwrap();
    agent.when_idle().await;
    drop(steer);
    assert_eq!(texts(agent.session()).split_off(4), ["again", "", "", "late", "heard"]);
}

// spec: agent-loop/S42
#[tokio::test]
async fn a_turn_that_is_about_to_end_goes_on_if_something_is_said() {
    let fixture = Fixture::new(["one", "two"].map(Answer::text)).await;
    let agent = fixture.agent("a").await;
    let asked = Heard::default();
    let told = asked.clone();
    let stopping = async move |told: &Heard, stopping: &TurnStopping| {
        told.say(format!("stopping {}", stopping.turn));
        if told.all().len() == 1 {
            stopping.agent.steer(said("not yet"))?;
        }
        Ok(None)
    };
    fixture.app.on(TURN_STOPPING).with(told).run(stopping).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "one", "not yet", "two"]);
    assert_eq!(asked.all(), ["stopping 1", "stopping 1"]);
    assert_eq!(endings(agent.session()).len(), 1);
}

// spec: agent-loop/S42
#[tokio::test]
async fn a_listener_that_fails_when_a_turn_is_about_to_end_fails_it() {
    let fixture = Fixture::new([Answer::text("one"), Answer::text("two")]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    let stopping = async |_: &TurnStopping| Err("not like this".into());
    let failing = fixture.app.on(TURN_STOPPING).run(stopping).unwrap();
    heard.listen(&fixture.app);
    agent.followup(said("go")).unwrap();
    agent.followup(said("waits on")).unwrap();
    agent.when_idle().await;
    let [TurnEndReason::Error { error }] = &endings(agent.session())[..] else { panic!("one turn") };
    assert_eq!((error.code.as_str(), error.message.as_str()), ("UNKNOWN", "not like this"));
    assert!(heard.all().contains(&"error in 1 1: not like this".to_owned()), "{:?}", heard.all());
    // spec S43: what waits stays.
    assert_eq!(agent.inbox().pending().list(dsh_agent::Target::NextTurn).len(), 1);
    failing.dispose().await;
    agent.steer(said("wakes")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "one", "wakes", "waits on", "two"]);
}

// spec: agent-loop/S42, agent-loop/S53
#[tokio::test]
async fn an_answer_at_its_limit_ends_the_turn_and_runs_no_tools() {
    let whole = ContentBlock::ToolCall { id: "c1".into(), name: "echo".into(), arguments: "{}".into() };
    let cut = Answer::new().chunks([
        StreamChunk::BlockStart { index: 0, block_type: "tool-call".into() },
        StreamChunk::BlockEnd { index: 0, block: whole },
        finish(FinishReason::MaxTokens {}),
    ]);
    let fixture = Fixture::new([cut, Answer::text("next")]).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::MaxTokens {}]);
    assert!(!kinds(agent.session()).contains(&"tool/call".to_owned()));
    agent.followup(said("more")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::MaxTokens {}, TurnEndReason::Completed {}]);
}

// spec: agent-loop/S42
#[tokio::test]
async fn a_turn_whose_answer_was_cut_stays_cut_whatever_follows() {
    let fixture = Fixture::new([ended("half", FinishReason::MaxTokens {}), Answer::text("rest")]).await;
    let agent = fixture.agent("a").await;
    let once = std::sync::atomic::AtomicBool::new(false);
    let stopping = async |once: &std::sync::atomic::AtomicBool, stopping: &TurnStopping| {
        if !once.swap(true, std::sync::atomic::Ordering::SeqCst) {
            stopping.agent.steer(said("go on"))?;
        }
        Ok(None)
    };
    fixture.app.on(TURN_STOPPING).with(once).run(stopping).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "half", "go on", "rest"]);
    assert_eq!(endings(agent.session()), [TurnEndReason::MaxTokens {}]);
}

// spec: agent-loop/S42, agent-loop/S46
#[tokio::test]
async fn a_turn_that_the_log_does_not_take_is_none_and_its_number_is_free() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    let refusing = refuse(&fixture, "turn/start");
    heard.listen(&fixture.app);
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert!(heard.take().iter().any(|it| it.starts_with("error in 0 0: ")));
    assert_eq!(kinds(agent.session()), ["agent/inbox/spliced"]);
    refusing.dispose().await;
    agent.steer(said("wake")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
    assert_eq!(texts(agent.session()), ["wake", "go", "ok"]);
}

// spec: agent-loop/S42
#[tokio::test]
async fn what_the_log_refuses_fails_the_turn_which_is_closed_all_the_same() {
    for kind in ["step/start", "user/message", "request/header", "assistant/chunk", "assistant/message"] {
        let fixture = Fixture::new([Answer::text("ok")]).await;
        let agent = fixture.agent("a").await;
        let _refusing = refuse(&fixture, kind);
        agent.followup(said("go")).unwrap();
        agent.when_idle().await;
        let [TurnEndReason::Error { error }] = &endings(agent.session())[..] else { panic!("{kind}") };
        assert!(error.message.contains(kind), "{}", error.message);
        let kinds = kinds(agent.session());
        let count = |kind: &str| kinds.iter().filter(|it| *it == kind).count();
        assert_eq!(count("step/start"), count("step/end"), "{kind}: {kinds:?}");
    }
}

// spec: agent-loop/S42
#[tokio::test]
async fn an_end_that_the_log_refuses_is_told() {
    for kind in ["step/end", "turn/end"] {
        let fixture = Fixture::new([Answer::text("ok")]).await;
        let agent = fixture.agent("a").await;
        let heard = Heard::default();
        let _refusing = refuse(&fixture, kind);
        heard.listen(&fixture.app);
        agent.followup(said("go")).unwrap();
        agent.when_idle().await;
        assert!(heard.all().iter().any(|it| it.starts_with("error in 1 1: ")), "{:?}", heard.all());
        assert_eq!(heard.all().last().map(String::as_str), Some("status idle"));
    }
}

// spec: agent-loop/S46
#[tokio::test]
async fn a_turn_that_failed_leaves_an_agent_that_works() {
    let failing = || Answer::error(dsh_llm::LlmError::new("AUTH", "no key"));
    let fixture = Fixture::new([failing(), Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("one")).unwrap();
    agent.when_idle().await;
    agent.followup(said("two")).unwrap();
    agent.when_idle().await;
    assert!(
        matches!(&endings(agent.session())[..], [TurnEndReason::Error { error }, TurnEndReason::Completed {}] if error.code == "AUTH")
    );
    assert_eq!(texts(agent.session()), ["one", "two", "ok"]);
}

/// Keeps events of a type out of logs.
fn refuse(fixture: &Fixture, kind: &'static str) -> cordis::Effect {
    let refusing = move |appending: &Appending| {
        if appending.event.kind() == kind { Err(format!("no {kind} here").into()) } else { Ok(()) }
    };
    fixture.app.on(APPENDING).run(refusing).unwrap()
}

/// An error of others, whose text cannot be had.
#[derive(Debug)]
struct Unsayable;

impl std::fmt::Display for Unsayable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no text")
    }
}

impl std::error::Error for Unsayable {}

// spec: agent-loop/S42, agent-loop/S46
#[tokio::test]
async fn an_error_that_panics_when_it_is_shown_ends_its_turn_and_nothing_else() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let fails = async |_: &mut AgentRequest, _: Next<'_, AgentRequest, Requested>| -> Requested {
        Err(Unsayable.into())
    };
    let failing = fixture.app.on(REQUEST).run(fails).unwrap();
    let agent = fixture.agent("a").await;
    agent.followup(said("one")).unwrap();
    agent.when_idle().await;
    failing.dispose().await;
    agent.followup(said("two")).unwrap();
    agent.when_idle().await;
    let [TurnEndReason::Error { error }, TurnEndReason::Completed {}] = &endings(agent.session())[..] else {
        panic!("{:?}", kinds(agent.session()))
    };
    assert_eq!(error.code, "UNKNOWN");
    assert!(dsh_session::closers(&agent.session().events()).is_empty());
    assert_eq!(texts(agent.session()), ["one", "two", "ok"]);
}

// spec: agent-loop/S74, agent-loop/S71
#[tokio::test]
async fn an_observer_of_the_log_can_cancel_where_nothing_waits() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let cancelled = agent.agent().clone();
    let heard = Heard::default();
    let told = heard.clone();
    let watching = move |added: &SessionEvent| {
        if added.event.kind() == StepStart::TYPE {
            told.say(format!("{:?}", cancelled.cancel(CancelCause::User {})));
        }
    };
    fixture.app.on(EVENT).run(watching).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(heard.all(), ["Ok(())"]);
    assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::User {} }]);
}
