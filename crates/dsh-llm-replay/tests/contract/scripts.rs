//! Scripts of steps.

use dsh_llm::{CallConfig, ContentBlock, FinishReason, LLM, Purpose};
use dsh_llm_replay::Config;
use serde_json::json;

use crate::fixture::{Fixture, SCRIPT, assembled, request, text};

#[tokio::test]
async fn a_script_gives_every_session_its_steps_and_the_last_one_repeats() {
    let fixture = Fixture::playing(SCRIPT, json!({})).await;
    for session in ["one", "two", ""] {
        let chunks = fixture.ask(session).await.unwrap();
        let call = ContentBlock::ToolCall {
            id: "call_0_0".into(),
            name: "bash".into(),
            arguments: "{\"command\":\"ls\"}".into(),
        };
        let expected = vec![
            ContentBlock::Reasoning { text: "Hm é".into() },
            ContentBlock::text("Let me 看看 look."),
            call,
        ];
        assert_eq!(assembled(&chunks).blocks().unwrap(), expected);
        assert_eq!(assembled(&chunks).finish(), FinishReason::ToolCalls {});
        for _ in 0..2 {
            let chunks = fixture.ask(session).await.unwrap();
            let deltas = chunks.iter().filter(|chunk| chunk.is_token_delta()).count();
            assert_eq!((text(&chunks).as_str(), deltas), ("Done.", 3));
        }
    }
    let mut title = request("one");
    title.purpose = Some(Purpose::SessionTitle);
    assert!(!text(&fixture.ask_for(title).await.unwrap()).is_empty());
}

#[tokio::test]
async fn a_step_that_repeats_has_calls_of_its_own() {
    let fixture = Fixture::playing(
        &json!({ "steps": [{ "calls": [{ "name": "a", "arguments": {} }] }] }).to_string(),
        json!({}),
    )
    .await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let answer = fixture.ask("s").await.unwrap();
        ids.extend(assembled(&answer).blocks().unwrap().into_iter().filter_map(|block| match block {
            ContentBlock::ToolCall { id, .. } => Some(id),
            _ => None,
        }));
    }
    assert_eq!(ids, ["call_0_0", "call_1_0", "call_2_0"]);
}

#[tokio::test]
async fn without_a_file_a_model_that_says_what_it_is_is_played() {
    let fixture = Fixture::new().await;
    fixture.mount(Config::default()).await.unwrap();
    let llm = fixture.app.get(LLM).unwrap();
    let models = llm.get().unwrap().models("scripted").await.unwrap();
    assert_eq!(models.iter().map(|model| model.id.as_str()).collect::<Vec<_>>(), ["scripted"]);
    let mut calls = 0;
    for _ in 0..10 {
        let mut request = request("s");
        request.config = CallConfig::new("scripted", "scripted");
        let chunks = fixture.ask_for(request).await.unwrap();
        assert!(!text(&chunks).is_empty());
        match assembled(&chunks).finish() {
            FinishReason::ToolCalls {} => calls += 1,
            finish => {
                assert_eq!(finish, FinishReason::Stop {});
                assert!(text(&chunks).contains("DEEPSEEK_API_KEY"), "it says what a key would change");
                break;
            }
        }
    }
    assert!((1..5).contains(&calls));
}

#[tokio::test]
async fn a_script_that_is_wrong_is_said_where() {
    for (text, told) in [
        (r#"{ "steps": [{ "txet": "a" }] }"#, "steps[0]"),
        (r#"{ "steps": [] }"#, "no steps"),
        ("{\n \"steps\": [{ \"text\": 5 }] }", "steps[0].text"),
    ] {
        let fixture = Fixture::new().await;
        let file = Some(fixture.write("file", text));
        let error = fixture.mount(Config { file, ..Config::default() }).await.unwrap_err();
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test]
async fn a_mark_of_the_byte_order_before_a_script_is_passed_over() {
    let fixture = Fixture::playing(&format!("\u{feff}{SCRIPT}"), json!({})).await;
    assert_eq!(fixture.text("s").await, "Let me 看看 look.");
}
