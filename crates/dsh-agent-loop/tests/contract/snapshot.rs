//! The runtime context in the conversation.

use std::sync::Arc;

use cordis::Next;
use dsh_agent::{PRE_STEP, PreStep, PreStepDecision};
use dsh_llm::testing::Answer;
use dsh_llm::{ContentBlock, Message, PluginForm, Role, Section, Source};
use dsh_prompt::{PromptContext, PromptText, SYSTEM_PROMPT};
use dsh_session::{NewEvent, Session};
use parking_lot::Mutex;

use crate::fixture::{Fixture, said};

/// A fixture whose runtime context a test sets.
async fn with_context(answers: usize) -> (Fixture, Arc<Mutex<String>>) {
    let fixture = Fixture::new((0..answers).map(|_| Answer::text("ok"))).await;
    let text = Arc::new(Mutex::new(String::new()));
    let shown = text.clone();
    let context = PromptContext::new("clock", 0, PromptText::dynamic(move |_| shown.lock().clone()));
    fixture.app.get(SYSTEM_PROMPT).unwrap().get().unwrap().context(&fixture.app, context).unwrap();
    (fixture, text)
}

/// The snapshots of a conversation.
fn snapshots(session: &Session) -> Vec<Arc<Message>> {
    let ours = |message: &&Arc<Message>| matches!(&message.source, Source::Plugin { plugin, .. } if plugin == "@deepseek-ai/dsh-system-prompt");
    session.messages().iter().filter(ours).cloned().collect()
}

async fn turn(agent: &dsh_agent::Agent) {
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
}

// spec: agent-loop/S62, agent-loop/S60, agent-loop/S61, system-prompt/S36
#[tokio::test]
async fn it_is_said_when_it_changes_and_only_then() {
    let (fixture, text) = with_context(5).await;
    let agent = fixture.agent("a").await;
    turn(&agent).await;
    assert_eq!(snapshots(agent.session()), []);
    *text.lock() = "noon".to_owned();
    turn(&agent).await;
    turn(&agent).await;
    let [noon] = &snapshots(agent.session())[..] else { panic!("one snapshot") };
    assert!(noon.text().ends_with("noon"), "{}", noon.text());
    let source = Source::Plugin {
        plugin: "@deepseek-ai/dsh-system-prompt".into(),
        form: Some(PluginForm::Snapshot),
        sections: Some(vec![Section { name: "clock".into(), text: "noon".into() }]),
        summary: None,
    };
    assert_eq!(noon.source, source);
    // It is the last of what is said in its step.
    let messages = agent.session().messages();
    let place = messages.iter().position(|message| message.id == noon.id).unwrap();
    assert_eq!(messages.get(place - 1).unwrap().text(), "go");
    assert_eq!(messages.get(place + 1).unwrap().role, Role::Assistant);
    *text.lock() = String::new();
    turn(&agent).await;
    turn(&agent).await;
    let [_, gone] = &snapshots(agent.session())[..] else { panic!("two snapshots") };
    assert!(matches!(&gone.source, Source::Plugin { form: None, sections: None, .. }));
}

// spec: agent-loop/S60, system-prompt/S39
#[tokio::test]
async fn a_resumed_session_knows_what_was_said_last() {
    let (fixture, text) = with_context(3).await;
    *text.lock() = "noon".to_owned();
    let agent = fixture.agent("a").await;
    turn(&agent).await;
    let seed = dsh_session::Seed::from(agent.session().events());
    agent.dispose().await;
    let mut request = dsh_agent::CreateAgent::new("b").options(crate::fixture::options());
    request.session.seed = Some(seed);
    let agent = fixture.agents().create(&fixture.app, request).await.unwrap();
    turn(&agent).await;
    assert_eq!(snapshots(agent.session()).len(), 1);
    *text.lock() = "one o'clock".to_owned();
    turn(&agent).await;
    assert_eq!(snapshots(agent.session()).len(), 2);
}

// spec: agent-loop/S61
#[tokio::test]
async fn one_that_was_replaced_is_said_again_and_others_do_not_matter() {
    let (fixture, text) = with_context(4).await;
    *text.lock() = "noon".to_owned();
    let agent = fixture.agent("a").await;
    turn(&agent).await;
    let nodes = agent.session().surface().nodes().to_vec();
    let snapshot = snapshots(agent.session())[0].id.clone();
    let seq_of = |id: &str| {
        let events = agent.session().events();
        events.iter().find(|event| event.message().is_some_and(|message| message.id == id)).unwrap().seq()
    };
    // Somebody sums up the first message alone.
    let summary =
        NewEvent::user(said("summed up")).unwrap().replacing(nodes[0], nodes[0]).made_from([nodes[0]]);
    agent.session().append(summary).unwrap();
    turn(&agent).await;
    assert_eq!(snapshots(agent.session()).len(), 1);
    // And now the snapshot.
    let seq = seq_of(&snapshot);
    let summary = NewEvent::user(said("summed up")).unwrap().replacing(seq, seq).made_from([seq]);
    agent.session().append(summary).unwrap();
    assert_eq!(snapshots(agent.session()), []);
    turn(&agent).await;
    assert_eq!(snapshots(agent.session()).len(), 1);
}

// spec: agent-loop/S62
#[tokio::test]
async fn one_that_a_listener_has_malformed_counts_as_another_one() {
    let (fixture, text) = with_context(3).await;
    *text.lock() = "noon".to_owned();
    let agent = fixture.agent("a").await;
    let malforms = async |_: &(), step: &mut PreStep, next: Next<'_, PreStep, PreStepDecision>| {
        let PreStepDecision::Enter { mut messages } = next.run(step).await else {
            return PreStepDecision::Reject;
        };
        for message in &mut messages {
            if matches!(message.source, Source::Plugin { .. }) {
                let mut odd = Message::clone(message);
                odd.content.push(ContentBlock::text("more"));
                *message = Arc::new(odd);
            }
        }
        PreStepDecision::Enter { messages }
    };
    let malforming = fixture.app.on(PRE_STEP).with(()).run(malforms).unwrap();
    turn(&agent).await;
    malforming.dispose().await;
    turn(&agent).await;
    turn(&agent).await;
    assert_eq!(snapshots(agent.session()).len(), 2);
}

// spec: agent-loop/S49
#[tokio::test]
async fn a_listener_that_does_not_ask_the_rest_leaves_it_out() {
    let (fixture, text) = with_context(2).await;
    *text.lock() = "noon".to_owned();
    let agent = fixture.agent("a").await;
    let alone = async |step: &mut PreStep, _: Next<'_, PreStep, PreStepDecision>| PreStepDecision::Enter {
        messages: step.messages.clone(),
    };
    let alone = fixture.app.on(PRE_STEP).run(alone).unwrap();
    turn(&agent).await;
    assert_eq!(snapshots(agent.session()), []);
    alone.dispose().await;
    turn(&agent).await;
    assert_eq!(snapshots(agent.session()).len(), 1);
}
