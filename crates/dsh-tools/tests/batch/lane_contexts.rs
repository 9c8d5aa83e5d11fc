//! What nested calls have for the conversation belongs to the outer call.

use cordis::Next;
use dsh_llm::{ContentBlock, Source};
use dsh_tools::{POST_EXECUTE, PostDecision, Replacement, Settled, ToolError, ToolOutcome, ToolRun};
use serde_json::{Value, json};

use crate::world::{World, raw, text, text_of_user};

fn image() -> Vec<ContentBlock> {
    vec![
        ContentBlock::text("a cat"),
        ContentBlock::Image { attachment: json!({ "attachmentId": "a", "bytes": 1 }) },
    ]
}

fn contexts(outcome: &ToolOutcome) -> Vec<String> {
    outcome.additional_contexts().iter().map(|message| text(&message.content)).collect()
}

/// Tools that say something besides their result.
async fn world() -> World {
    let world = World::new().await;
    let talks = raw("talks").run(|_, run: ToolRun| {
        run.defer_context(text_of_user(&format!("{} said", run.call_id())));
        run.conclude_turn();
        std::future::ready(Ok(json!("ok")))
    });
    world.offer(talks.parallel_when(|_| true));
    let fails = raw("fails").run(|_, run: ToolRun| {
        run.defer_context(text_of_user("of a failure"));
        run.conclude_turn();
        std::future::ready(Err(ToolError::new("no luck")))
    });
    world.offer(fails);
    let shows = raw("shows").run(|_, run: ToolRun| {
        run.defer_context(text_of_user("of the picture"));
        std::future::ready(Ok(json!("ok")))
    });
    world.offer(shows.render(|_, _| Ok(image())));
    world
}

// spec: code-mode/C27, tools/T85, tools/T86
#[tokio::test]
async fn messages_and_the_end_of_the_turn_are_forwarded_in_the_order_of_answers() {
    let world = world().await;
    world.program("program", async |lane, _| {
        let (one, two) = tokio::join!(lane.call("talks", json!({})), lane.call("talks", json!({})));
        Ok(json!([one?, two?]))
    });
    let outcome = world.call("program").await;
    assert_eq!(contexts(&outcome), ["c1:code:1 said", "c1:code:2 said"]);
    assert!(outcome.concludes_turn());
}

// spec: code-mode/C27, tools/T86
#[tokio::test]
async fn a_nested_call_that_failed_does_not_end_the_turn_and_keeps_its_messages() {
    let world = world().await;
    world.program("program", async |lane, _| {
        Ok(json!(lane.call("fails", json!({})).await.unwrap_err().message))
    });
    let outcome = world.call("program").await;
    assert_eq!(outcome.value(), Some(&json!("no luck")));
    assert_eq!(contexts(&outcome), ["of a failure"]);
    assert!(!outcome.concludes_turn());
}

// spec: code-mode/C27, code-mode/C28
#[tokio::test]
async fn a_picture_in_the_final_content_comes_before_the_messages_of_its_call() {
    let world = world().await;
    world.program("program", async |lane, _| Ok(lane.call("shows", json!({})).await?));
    let outcome = world.call("program").await;
    assert_eq!(outcome.value(), Some(&json!("ok")));
    assert_eq!(contexts(&outcome), ["a cat|image", "of the picture"]);
    let source =
        Source::Plugin { plugin: "tools-code-mode".to_owned(), form: None, sections: None, summary: None };
    assert_eq!(outcome.additional_contexts()[0].source, source);
}

// spec: code-mode/C28
#[tokio::test]
async fn a_picture_that_a_policy_removed_or_added_counts_as_it_is_in_the_end() {
    let world = world().await;
    world.timed("plain", true);
    world.program("program", async |lane, _| {
        lane.call("shows", json!({})).await?;
        Ok(lane.call("plain", json!({})).await?)
    });
    world
        .app
        .on(POST_EXECUTE)
        .run(async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            let content = match settled.call().name() {
                "shows" => vec![ContentBlock::text("no picture")],
                "plain" => image(),
                _ => return next.run(settled).await,
            };
            PostDecision::Accept { replace: Some(Replacement::Content(content)), contexts: Vec::new() }
        })
        .unwrap();
    assert_eq!(contexts(&world.call("program").await), ["of the picture", "a cat|image"]);
}

// spec: code-mode/C28, tools/T86
#[tokio::test]
async fn messages_outlive_a_program_that_fails_but_not_a_block() {
    let world = world().await;
    world.program("failing", async |lane, _| {
        lane.call("talks", json!({})).await?;
        Err::<Value, _>(ToolError::new("the program broke"))
    });
    world.program("blocked", async |lane, _| Ok(lane.call("talks", json!({})).await?));
    world
        .app
        .on(POST_EXECUTE)
        .run(async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            match settled.call().name() {
                "blocked" => PostDecision::block("not for the model"),
                _ => next.run(settled).await,
            }
        })
        .unwrap();
    let failed = world.call("failing").await;
    assert_eq!((failed.text().as_str(), failed.concludes_turn()), ("Error: the program broke", false));
    assert_eq!(contexts(&failed), ["c1:code:1 said"]);
    assert_eq!(contexts(&world.call("blocked").await), [""; 0]);
}
