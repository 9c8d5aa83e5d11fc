//! What a batch leaves in the log and in the inbox.

use std::sync::Arc;

use cordis::Next;
use dsh_llm::ContentBlock;
use dsh_session::SurfaceOp;
use dsh_tools::{EXECUTE, POST_EXECUTE, PostDecision, Settled, ToolCall, ToolError, ToolOutcome, ToolRun};
use serde_json::{Value, json};

use crate::world::{World, raw, text_of_user, texts};

fn data(world: &World, seq: usize) -> Value {
    serde_json::from_str(world.event(seq).data().get()).unwrap()
}

// spec: tools/T89, tools/T90
#[tokio::test]
async fn a_call_and_its_result_are_a_pair_of_events() {
    let world = World::new().await;
    let rich = raw("rich").run(async |_, _run| Ok(json!({ "k": 1 })));
    world.offer(rich.presentation_meta(|_, _| Ok(json!({ "m": 1 }))));
    let batch = world.batch(&[("c1", "rich", " { \"a\" : 1 } "), ("c2", "nobody", "{\"cut")]);
    world.run(batch).await.unwrap();

    let call =
        json!({ "turn": 3, "step": 2, "callId": "c1", "name": "rich", "arguments": " { \"a\" : 1 } " });
    assert_eq!(data(&world, 0), call);
    let mut result = data(&world, 1);
    let id = result["message"].as_object_mut().unwrap().remove("id").unwrap();
    assert!(!id.as_str().unwrap().is_empty());
    let content = json!([{ "type": "text", "text": "{\n  \"k\": 1\n}" }]);
    let message = json!({
        "role": "user",
        "source": { "kind": "tool", "callId": "c1" },
        "content": [{ "type": "tool-result", "toolCallId": "c1", "content": content }],
    });
    assert_eq!(result, json!({ "turn": 3, "step": 2, "message": message, "meta": { "m": 1 } }));
    assert_eq!(data(&world, 2)["arguments"], "{\"cut");
    let failed = data(&world, 3);
    assert_eq!(failed["error"], json!({ "name": "ToolArgsError", "code": "INVALID_ARGS" }));
    assert_eq!(failed["message"]["content"][0]["isError"], true);
    assert_eq!(failed.get("meta"), None);

    for (seq, kind, surface, sources) in [
        (0, "tool/call", None, None),
        (1, "tool/result", Some(SurfaceOp::Append), Some([world.seq(0)])),
        (2, "tool/call", None, None),
        (3, "tool/result", Some(SurfaceOp::Append), Some([world.seq(2)])),
    ] {
        let event = world.event(seq);
        let sources = sources.as_ref().map(|it| it.as_slice());
        assert_eq!((event.kind(), event.surface(), event.sources()), (kind, surface, sources));
    }
}

// spec: tools/T89, cases/T1
#[tokio::test]
async fn no_arguments_and_blank_ones_are_an_empty_object() {
    let world = World::new().await;
    world.offer(
        raw("echo").run(|arguments: Arc<Value>, _run| std::future::ready(Ok(Value::clone(&arguments)))),
    );
    let outcomes = world.run(world.batch(&[("c1", "echo", ""), ("c2", "echo", "  ")])).await.unwrap();
    let values: Vec<Option<&Value>> = outcomes.iter().map(ToolOutcome::value).collect();
    assert_eq!(values, [Some(&json!({})), Some(&json!({}))]);
    assert_eq!(
        (data(&world, 0)["arguments"].as_str(), data(&world, 2)["arguments"].as_str()),
        (Some(""), Some("  "))
    );
}

// spec: tools/T85, tools/T91, agent-loop/S80, agent-loop/S81
#[tokio::test]
async fn messages_go_to_the_inbox_after_their_result_in_order() {
    let world = World::new().await;
    let talks = raw("talks").run(|_, run: ToolRun| {
        run.defer_context(text_of_user(&format!("{} tool 1", run.call_id())));
        run.defer_context(text_of_user(&format!("{} tool 2", run.call_id())));
        std::future::ready(match run.call_id() {
            "c2" => Err(ToolError::new("no luck")),
            _ => Ok(json!("ok")),
        })
    });
    world.offer(talks.parallel_when(|_| true));
    world
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let id = call.id().to_owned();
            next.run(call).await.with_context(text_of_user(&format!("{id} wrapper")))
        })
        .unwrap();
    world
        .app
        .on(POST_EXECUTE)
        .run(async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            let id = settled.call().id().to_owned();
            next.run(settled).await.with_context(text_of_user(&format!("{id} post")))
        })
        .unwrap();
    world.run(world.batch(&[("c1", "talks", "{}"), ("c2", "talks", "{}")])).await.unwrap();
    let expected = [
        "c1 tool 1",
        "c1 tool 2",
        "c1 wrapper",
        "c1 post",
        "c2 tool 1",
        "c2 tool 2",
        "c2 wrapper",
        "c2 post",
    ];
    assert_eq!(world.contexts(), expected);
    let told: Vec<String> = expected.iter().map(|text| format!("context {text} after tool/result")).collect();
    assert_eq!(world.told.all(), told);
}

#[tokio::test]
async fn a_message_that_cannot_be_one_is_left_out_and_the_batch_goes_on() {
    let world = World::new().await;
    let twice = raw("twice").run(|_, run: ToolRun| {
        let message = text_of_user("again");
        run.defer_context(message.clone());
        run.defer_context(message);
        run.defer_context(text_of_user("other"));
        std::future::ready(Ok(json!("ok")))
    });
    world.offer(twice);
    world.run(world.batch(&[("c1", "twice", "{}"), ("c2", "nobody", "{}")])).await.unwrap();
    assert_eq!(world.contexts(), ["again", "other"]);
    assert_eq!(world.log().len(), 4);
}

#[tokio::test]
async fn what_no_log_can_hold_does_not_keep_a_result_from_the_model() {
    let world = World::new().await;
    let big = 9_007_199_254_740_993_u64;
    let meta = raw("meta").run(async |_, _run| Ok(json!("ok")));
    world.offer(meta.presentation_meta(move |_, _| Ok(json!({ "at": big }))));
    let image = raw("image").run(async |_, _run| Ok(json!("ok")));
    world.offer(image.render(move |_, _| {
        Ok(vec![ContentBlock::Image { attachment: json!({ "attachmentId": "a", "bytes": big }) }])
    }));
    world.timed("quick", false);
    let calls = [("c1", "meta", "{}"), ("c2", "image", "{}"), ("c3", "quick", "{}")];
    let outcomes = world.run(world.batch(&calls)).await.unwrap();
    assert_eq!(texts(&outcomes)[0], "ok");
    assert_eq!(data(&world, 1).get("meta"), None);
    assert_eq!(outcomes[1].code(), Some("INVALID_TOOL_OUTPUT"));
    assert!(
        outcomes[1].text().starts_with("Error: the result of tool \"image\" cannot be kept in the log: ")
    );
    assert_eq!(world.log()[3], format!("result c2: {} (failed)", outcomes[1].text()));
    assert_eq!(world.log()[5], "result c3: quick");
}
