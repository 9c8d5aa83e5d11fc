//! Calls that were being written when the answer ended.

use dsh_llm::FinishReason;
use dsh_tools::ModelCall;
use serde_json::json;

use crate::world::{World, texts};

const TOKEN_LIMIT: &str = "Error: invalid arguments: the answer reached the limit of tokens before they were complete, \
    so the call was not executed; call the tool again with shorter arguments, or split the work into several calls";
const BROKEN_OFF: &str = "Error: invalid arguments: the answer broke off before they were complete, so the call was not executed; call the tool again";

// spec: cases/T5
#[tokio::test(start_paused = true)]
async fn the_last_call_of_an_answer_that_reached_its_limit_is_never_executed() {
    for arguments in [r#"{"ms": 1}"#, r#"{"ms": "#, ""] {
        let world = World::new().await;
        world.timed("quick", true);
        world.watch();
        let mut batch = world.batch(&[("c1", "quick", "{}"), ("c2", "quick", arguments)]);
        batch.finish = FinishReason::MaxTokens {};
        let outcomes = world.run(batch).await.unwrap();
        assert_eq!(texts(&outcomes), ["quick", TOKEN_LIMIT]);
        assert_eq!(outcomes[1].code(), Some("INVALID_ARGS"));
        assert_eq!(world.log()[3], format!("result c2: {TOKEN_LIMIT} (failed)"));
        assert!(!world.told.all().iter().any(|it| it == "c2 enter" || it == "c2 policy"));
        world.told.place("c2 result");
    }
}

// spec: cases/T5
#[tokio::test(start_paused = true)]
async fn a_call_that_is_known_to_be_cut_off_is_not_executed_whatever_the_answer_says() {
    let world = World::new().await;
    world.timed("quick", true);
    let mut batch = world.batch(&[]);
    batch.calls = vec![
        ModelCall::new("c1", "quick", r#"{"ms": 1}"#).cut_off(),
        ModelCall::new("c2", "quick", r#"{"ms": 1, "te"#),
        ModelCall::new("c3", "quick", "{}"),
    ];
    let outcomes = world.run(batch).await.unwrap();
    assert_eq!(texts(&outcomes)[0], BROKEN_OFF);
    assert_eq!(outcomes[1].code(), Some("INVALID_ARGS"));
    assert!(outcomes[1].text().starts_with("Error: invalid arguments: "), "{}", outcomes[1].text());
    assert_eq!(texts(&outcomes)[2], "quick");
    assert_eq!(world.told.all(), ["c3 enter", "c3 leave"]);
}

// spec: cases/T5
#[tokio::test(start_paused = true)]
async fn only_a_known_good_end_lets_the_last_call_run() {
    let unknown = serde_json::from_value(json!({ "kind": "content-filter" })).unwrap();
    for (finish, text) in [(FinishReason::Stop {}, "quick"), (unknown, BROKEN_OFF)] {
        let world = World::new().await;
        world.timed("quick", true);
        let mut batch = world.batch(&[("c1", "quick", "{}")]);
        batch.finish = finish;
        assert_eq!(texts(&world.run(batch).await.unwrap()), [text]);
    }
}

#[test]
fn the_calls_of_an_answer_are_its_blocks_in_order() {
    use dsh_llm::ContentBlock;
    let call = |id: &str| ContentBlock::ToolCall { id: id.into(), name: "n".into(), arguments: "{}".into() };
    let content = [ContentBlock::text("I call."), call("c1"), call("c2")];
    let calls = [ModelCall::new("c1", "n", "{}"), ModelCall::new("c2", "n", "{}")];
    assert_eq!(ModelCall::all_of(&content), calls);
}
