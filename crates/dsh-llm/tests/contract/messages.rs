//! What of the messages reaches an adapter.

use std::sync::Arc;

use cordis::Next;
use dsh_llm::testing::{Answer, ScriptedModel, collected, plain};
use dsh_llm::{
    CallConfig, ContentBlock, Message, Modality, ModelCall, ModelInfo, ModelRequest, Outcome, STREAM, Source,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::Fixture;

fn answered(provider: &str, state: Option<Value>) -> Arc<Message> {
    let mut message = Message::assistant(vec![ContentBlock::text("earlier")], provider, "old-model");
    if let Source::Model { replay_state, .. } = &mut message.source {
        *replay_state = state;
    }
    Arc::new(message)
}

fn state_of(message: &Message) -> Option<Value> {
    match &message.source {
        Source::Model { replay_state, .. } => replay_state.clone(),
        _ => None,
    }
}

async fn sent(fixture: &Fixture, model: &ScriptedModel, messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    model.push(Answer::text("a"));
    let request = ModelRequest::new(CallConfig::new("acme", "m"), messages);
    collected(fixture.llm.stream(request)).await.unwrap();
    model.requests().pop().unwrap().messages.to_vec()
}

// spec: llm/S41
#[tokio::test]
async fn replay_state_reaches_the_adapter_that_left_it_and_no_other() {
    let fixture = Fixture::new().await;
    let (model, other) = (ScriptedModel::new([]), ScriptedModel::new([]));
    fixture.llm.register(&fixture.app, ["acme", "acme-eu"], model.adapter()).unwrap();
    fixture.serve("bolt", &other);
    let state = Some(json!({"response": "r1"}));
    let messages = vec![
        answered("acme", state.clone()),
        answered("acme-eu", state.clone()),
        answered("bolt", state.clone()),
        answered("nobody", state.clone()),
        answered("acme", None),
    ];
    let originals: Vec<Message> = messages.iter().map(|message| Message::clone(message)).collect();
    let got = sent(&fixture, &model, messages.clone()).await;
    let states: Vec<Option<Value>> = got.iter().map(|message| state_of(message)).collect();
    assert_eq!(states, [state.clone(), state, None, None, None]);
    for (index, (got, message)) in got.iter().zip(&messages).enumerate() {
        assert_eq!(**message, originals[index], "what was handed in is not touched");
        assert_eq!(Arc::ptr_eq(got, message), ![2, 3].contains(&index), "only what changes is copied");
        let Source::Model { provider, model, .. } = &got.source else { panic!("{got:?}") };
        let Source::Model { provider: of, .. } = &message.source else { panic!("{message:?}") };
        assert_eq!((provider, model.as_str()), (of, "old-model"));
        assert_eq!((&got.id, &got.content), (&message.id, &message.content));
    }
}

// spec: llm/S41, llm/S31
#[tokio::test]
async fn replay_state_goes_by_who_serves_its_provider_now() {
    let fixture = Fixture::new().await;
    let (moved, new) = (ScriptedModel::new([Answer::text("a")]), ScriptedModel::new([]));
    let state = Some(json!({"response": "r1"}));
    let registration = fixture.serve("acme", &moved);
    let messages = vec![answered("acme", state.clone())];
    registration.replace(["acme-old"]).unwrap();
    let asked = || ModelRequest::new(CallConfig::new("acme-old", "m"), messages.clone());
    collected(fixture.llm.stream(asked())).await.unwrap();
    assert_eq!(state_of(&moved.requests()[0].messages[0]), None, "nobody serves it");
    fixture.serve("acme", &new);
    assert_eq!(state_of(&sent(&fixture, &new, messages.clone()).await[0]), state);
    moved.push(Answer::text("a"));
    collected(fixture.llm.stream(asked())).await.unwrap();
    assert_eq!(state_of(&moved.requests()[1].messages[0]), None, "somebody else serves it");
    assert_eq!(state_of(&messages[0]), state);
}

// spec: llm/S41
#[tokio::test]
async fn replay_state_follows_the_provider_that_a_listener_reroutes_to() {
    let fixture = Fixture::new().await;
    let (model, other) = (ScriptedModel::new([]), ScriptedModel::new([Answer::text("a")]));
    fixture.serve("acme", &model);
    fixture.serve("bolt", &other);
    fixture.reroute("bolt");
    let state = Some(json!({"response": "r1"}));
    let messages = vec![answered("acme", state.clone()), answered("bolt", state.clone())];
    let request = ModelRequest::new(CallConfig::new("acme", "m"), messages);
    collected(fixture.llm.stream(request)).await.unwrap();
    let states: Vec<_> = other.requests()[0].messages.iter().map(|message| state_of(message)).collect();
    assert_eq!(states, [None, state]);
}

fn image(digest: &str) -> ContentBlock {
    ContentBlock::Image { attachment: json!({"attachmentId": format!("sha256:{digest}"), "bytes": 3}) }
}

fn with_images() -> Vec<Arc<Message>> {
    let shown = vec![ContentBlock::text("look"), image("0123456789abcdef")];
    let read = Message::tool_result("c1", vec![image("fedcba9876543210"), ContentBlock::text("done")], false);
    let plain = Message::user(vec![ContentBlock::text("and?")]);
    vec![Arc::new(Message::user(shown)), Arc::new(read), Arc::new(plain)]
}

fn is_image(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Image { .. } => true,
        ContentBlock::ToolResult { content, .. } => content.iter().any(is_image),
        _ => false,
    }
}

async fn reading(modalities: Option<Vec<Modality>>) -> (Fixture, ScriptedModel) {
    let fixture = Fixture::new().await;
    let model = ScriptedModel::new([]).with_info(move |provider, model| ModelInfo {
        input_modalities: modalities.clone(),
        ..plain(provider, model)
    });
    fixture.serve("acme", &model);
    (fixture, model)
}

// spec: llm/S42
#[tokio::test]
async fn a_model_that_reads_text_only_is_told_which_images_there_are_below_all_listeners() {
    let (fixture, model) = reading(Some(vec![Modality::Text])).await;
    let seen: Arc<Mutex<usize>> = Arc::default();
    fixture
        .app
        .on(STREAM)
        .with(seen.clone())
        .run(async |seen: &Arc<Mutex<usize>>, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
            let blocks = call.request.messages.iter().flat_map(|message| &message.content);
            *seen.lock() += blocks.filter(|block| is_image(block)).count();
            next.run(call).await
        })
        .unwrap();
    let messages = with_images();
    let originals: Vec<Message> = messages.iter().map(|message| Message::clone(message)).collect();
    let got = sent(&fixture, &model, messages.clone()).await;
    assert_eq!(*seen.lock(), 2, "listeners see them");
    let text = serde_json::to_string(&got).unwrap();
    assert!(!got.iter().flat_map(|message| &message.content).any(is_image), "{text}");
    assert!(text.contains("01234567") && !text.contains("012345678"), "{text}");
    assert!(text.contains("fedcba98") && !text.contains("fedcba987"), "{text}");
    assert!(text.contains("look") && text.contains("done") && text.contains("and?"), "{text}");
    assert!(Arc::ptr_eq(&got[2], &messages[2]), "what has none is shared");
    for ((got, message), original) in got.iter().zip(&messages).zip(&originals) {
        assert_eq!(**message, *original, "what was handed in is not touched");
        assert_eq!((&got.id, got.role, &got.source), (&message.id, message.role, &message.source));
    }
    // The same again: the text is stable.
    assert_eq!(sent(&fixture, &model, messages).await, got);
}

// spec: llm/S42
#[tokio::test]
async fn a_model_that_reads_images_or_of_which_nothing_is_known_gets_them() {
    for modalities in [None, Some(vec![Modality::Text, Modality::Image])] {
        let (fixture, model) = reading(modalities).await;
        let messages = with_images();
        let got = sent(&fixture, &model, messages.clone()).await;
        assert!(got.iter().zip(&messages).all(|(got, message)| Arc::ptr_eq(got, message)));
    }
}

// spec: llm/S10
#[tokio::test]
async fn what_reaches_an_adapter_does_not_say_that_a_loop_made_it_and_what_reaches_a_listener_does() {
    let (fixture, model) = Fixture::with([Answer::text("a")]).await;
    let seen: Arc<Mutex<Vec<bool>>> = Arc::default();
    fixture
        .app
        .on(STREAM)
        .with(seen.clone())
        .run(
            async |seen: &Arc<Mutex<Vec<bool>>>, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
                seen.lock()
                    .extend([call.request.is_built_by_loop(), call.request.clone().is_built_by_loop()]);
                next.run(call).await
            },
        )
        .unwrap();
    let request = ModelRequest::new(CallConfig::new("acme", "m"), []).built_by_loop();
    collected(fixture.llm.stream(request)).await.unwrap();
    assert_eq!(*seen.lock(), [true, false]);
    assert!(!model.requests()[0].is_built_by_loop());
}
