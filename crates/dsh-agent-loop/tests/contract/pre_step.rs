//! Whether a step begins, and with which messages.

use std::sync::Arc;

use cordis::Next;
use dsh_agent::{PRE_STEP, PreStep, PreStepDecision, Target};
use dsh_llm::Message;
use dsh_llm::testing::Answer;
use dsh_prompt::{Assembling, PromptAssembly, PromptSection, PromptText, SYSTEM_PROMPT};
use dsh_session::{CancelCause, TurnEndReason};
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::{Fixture, Heard, calls, endings, kinds, said, texts};

type Entering<'a> = Next<'a, PreStep, PreStepDecision>;

// spec: agent-loop/S48, agent-loop/S49, agent-loop/S52
#[tokio::test]
async fn listeners_are_asked_once_per_step_before_it_is_logged() {
    let fixture = Fixture::new([calls(&[("c1", "echo", json!({}))]), Answer::text("done")]).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    let asked = async |heard: &Heard, step: &mut PreStep, next: Entering<'_>| {
        let messages: Vec<String> = step.messages.iter().map(|message| message.text()).collect();
        heard.say(format!("asked {}.{} {messages:?}", step.turn, step.step));
        next.run(step).await
    };
    fixture.app.on(PRE_STEP).with(heard.clone()).run(asked).unwrap();
    let assembled =
        async |heard: &Heard,
               assembling: &mut Assembling,
               next: Next<'_, Assembling, Result<PromptAssembly, cordis::BoxError>>| {
            heard.say("assembled");
            next.run(assembling).await
        };
    fixture.app.on(dsh_prompt::ASSEMBLE).with(heard.clone()).run(assembled).unwrap();
    heard.listen(&fixture.app);
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let steps =
        ["claimed go in 1", "assembled", "asked 1.1 [\"go\"]", "step/start", "assembled", "asked 1.2 []"];
    let all = heard.all();
    let seen: Vec<&String> = all.iter().filter(|it| steps.contains(&it.as_str())).collect();
    let expected = [
        "claimed go in 1",
        "assembled",
        "asked 1.1 [\"go\"]",
        "step/start",
        "assembled",
        "asked 1.2 []",
        "step/start",
    ];
    assert_eq!(seen, expected);
}

// spec: agent-loop/S49, agent-loop/S70
#[tokio::test]
async fn a_listener_may_add_replace_and_remove_what_is_said() {
    let fixture = Fixture::new(["one", "two"].map(Answer::text)).await;
    let agent = fixture.agent("a").await;
    let changes = async |_: &(), step: &mut PreStep, next: Entering<'_>| {
        let decision = next.run(step).await;
        let PreStepDecision::Enter { mut messages } = decision else { return decision };
        messages.retain(|message| message.text() != "remove me");
        messages.push(said("added"));
        PreStepDecision::Enter { messages }
    };
    let changing = fixture.app.on(PRE_STEP).with(()).run(changes).unwrap();
    let kept = said("go");
    agent.inject(said("remove me")).unwrap();
    agent.followup(kept.clone()).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "added", "one"]);
    // The very message that was sent.
    assert_eq!(agent.session().messages().get(0).unwrap().id, kept.id);
    changing.dispose().await;
    let nothing = async |_: &mut PreStep, _: Entering<'_>| PreStepDecision::Enter { messages: Vec::new() };
    let emptied = fixture.app.on(PRE_STEP).run(nothing).unwrap();
    agent.followup(said("never said")).unwrap();
    agent.when_idle().await;
    emptied.dispose().await;
    assert_eq!(
        kinds(agent.session()).split_off(13),
        ["agent/inbox/spliced", "turn/start", "agent/inbox/spliced", "turn/end"]
    );
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}, TurnEndReason::Completed {}]);
}

// spec: agent-loop/S50, agent-loop/S43
#[tokio::test]
async fn what_is_rejected_is_neither_said_nor_told_nor_waits_again() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    let rejects = async |_: &(), step: &mut PreStep, _: Entering<'_>| {
        step.agent.inject(said("meanwhile")).unwrap();
        PreStepDecision::Reject
    };
    let rejecting = fixture.app.on(PRE_STEP).with(()).run(rejects).unwrap();
    heard.listen(&fixture.app);
    agent.followup(said("no")).unwrap();
    agent.followup(said("later")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Blocked {}]);
    assert!(
        !heard
            .all()
            .iter()
            .any(|it| it.starts_with("discarded") || it == "step/start" || it == "user/message")
    );
    let pending = agent.inbox().pending();
    let waiting = |target| pending.list(target).iter().map(|message| message.text()).collect::<Vec<_>>();
    assert_eq!(waiting(Target::NextStep), ["meanwhile"]);
    assert_eq!(waiting(Target::NextTurn), ["later"]);
    rejecting.dispose().await;
    agent.steer(said("now")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["meanwhile", "now", "later", "ok"]);
}

// spec: agent-loop/S42
#[tokio::test]
async fn a_later_step_may_be_rejected_as_well() {
    let fixture = Fixture::new([calls(&[("c1", "echo", json!({}))])]).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    let rejects = async |step: &mut PreStep, next: Entering<'_>| {
        if step.step > 1 { PreStepDecision::Reject } else { next.run(step).await }
    };
    fixture.app.on(PRE_STEP).run(rejects).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Blocked {}]);
    assert_eq!(kinds(agent.session()).last().map(String::as_str), Some("turn/end"));
    assert_eq!(kinds(agent.session()).iter().filter(|kind| *kind == "step/start").count(), 1);
}

// spec: agent-loop/S51, agent-loop/S46
#[tokio::test]
async fn what_fails_before_a_step_closes_the_turn_and_the_batch_stays_removed() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    let panics = async |_: &mut PreStep, _: Entering<'_>| -> PreStepDecision { panic!("no step") };
    let panicking = fixture.app.on(PRE_STEP).run(panics).unwrap();
    agent.followup(said("lost")).unwrap();
    agent.followup(said("kept")).unwrap();
    agent.when_idle().await;
    panicking.dispose().await;
    assert!(
        matches!(&endings(agent.session())[..], [TurnEndReason::Error { error }] if error.code == "UNKNOWN")
    );
    assert!(!kinds(agent.session()).contains(&"step/start".to_owned()));
    let section = PromptText::fallible(|_| Err("no prompt today".into()));
    let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
    let failing = prompt.get().unwrap().section(&fixture.app, PromptSection::new("bad", 1, section)).unwrap();
    agent.inject(said("lost too")).unwrap();
    agent.steer(said("wake")).unwrap();
    agent.when_idle().await;
    failing.dispose().await;
    assert_eq!(endings(agent.session()).len(), 2);
    assert_eq!(texts(agent.session()), Vec::<String>::new());
    assert!(agent.inbox().is_empty());
    fixture.app.quiet().await;
    fixture.app.take_errors();
}

// spec: agent-loop/S53
#[tokio::test]
async fn a_variable_without_a_value_fails_the_step_that_has_begun() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
    prompt.get().unwrap().section(&fixture.app, PromptSection::new("where", 1, "in {{cwd}}")).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let [TurnEndReason::Error { error }] = &endings(agent.session())[..] else { panic!("one turn") };
    assert!(error.message.contains("cwd"), "{}", error.message);
    let tail = kinds(agent.session()).split_off(3);
    assert_eq!(tail, ["step/start", "user/message", "step/end", "turn/end"]);
}

// spec: agent-loop/S51, agent-loop/S74
#[tokio::test]
async fn a_cancel_before_a_step_closes_a_turn_without_one() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let cancels = async |step: &mut PreStep, next: Entering<'_>| {
        let decision = next.run(step).await;
        step.agent.cancel(CancelCause::Hook { reason: "enough".into() }).unwrap();
        assert!(step.cancellation.is_cancelled());
        decision
    };
    fixture.app.on(PRE_STEP).run(cancels).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let cause = CancelCause::Hook { reason: "enough".into() };
    assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: cause }]);
    assert!(!kinds(agent.session()).contains(&"step/start".to_owned()));
}

// spec: agent-loop/S46, agent-loop/S50
#[tokio::test]
async fn steering_that_comes_while_a_listener_fails_waits_on() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    let fails =
        async |seen: &Mutex<Vec<Arc<Message>>>, step: &mut PreStep, _: Entering<'_>| -> PreStepDecision {
            seen.lock().clone_from(&step.messages);
            step.agent.steer(said("later")).unwrap();
            panic!("no step")
        };
    let failing = fixture.app.on(PRE_STEP).with(Mutex::default()).run(fails).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    failing.dispose().await;
    assert_eq!(agent.inbox().waits_for(Target::NextStep), 1);
    agent.followup(said("again")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["later", "again", "ok"]);
    fixture.app.quiet().await;
    fixture.app.take_errors();
}
