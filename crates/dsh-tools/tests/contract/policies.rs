//! What policies may do with an outcome.

use dsh_llm::ContentBlock;
use dsh_tools::{
    POST_EXECUTE, PostDecision, PreDecision, Replacement, Settled, ToolDefinition, ToolError, ToolRun,
};
use serde_json::{Value, json};

use crate::fixture::{Does, Fixture, Probe, around, contexts, message};

async fn body(_: std::sync::Arc<Value>, run: ToolRun) -> Result<Value, ToolError> {
    run.defer_context(message("of the body"));
    run.conclude_turn();
    Ok(json!(7))
}

/// Its value is an integer, which its content and meta show.
fn counter() -> ToolDefinition {
    ToolDefinition::raw("counter", "Counts.", json!({ "type": "object" }))
        .output(json!({ "type": "integer" }))
        .run(body)
        .render(|_, value| Ok(vec![ContentBlock::text(format!("rendered {value}"))]))
        .presentation_meta(|_, value| Ok(json!({ "shown": value })))
}

// spec: tools/T68, tools/T72, tools/T113
#[tokio::test]
async fn content_is_replaced_and_nothing_else() {
    let fixture = Fixture::with(counter()).await;
    let before = fixture.call("counter").await;
    assert_eq!((before.text().as_str(), before.concludes_turn()), ("rendered 7", true));
    fixture.reviews(PostDecision::replace_text("seven").with_context(message("of the policy")));
    let outcome = fixture.call("counter").await;
    assert_eq!((outcome.text().as_str(), outcome.value()), ("seven", Some(&json!(7))));
    assert_eq!((outcome.meta(), outcome.concludes_turn()), (Some(&json!({ "shown": 7 })), true));
    assert_eq!(contexts(&outcome), ["of the body", "of the policy"]);
}

// spec: tools/T68, tools/T118
#[tokio::test]
async fn the_content_of_a_failure_is_replaced_and_the_failure_stays() {
    let fixture = Fixture::with(&Probe::new(Does::Fail)).await;
    let before = fixture.call("probe").await;
    fixture.reviews(PostDecision::replace_text("all is well"));
    let outcome = fixture.call("probe").await;
    assert_eq!((outcome.text().as_str(), outcome.as_failure()), ("all is well", before.as_failure()));
}

// spec: tools/T68, tools/T122
#[tokio::test]
async fn a_value_is_replaced_and_shown_anew() {
    let fixture = Fixture::with(counter()).await;
    fixture.reviews(PostDecision::replace_value(8).with_context(message("of the policy")));
    let outcome = fixture.call("counter").await;
    assert_eq!((outcome.text().as_str(), outcome.value()), ("rendered 8", Some(&json!(8))));
    assert_eq!((outcome.meta(), outcome.concludes_turn()), (Some(&json!({ "shown": 8 })), true));
    assert_eq!(contexts(&outcome), ["of the body", "of the policy"]);
}

// spec: tools/T66, tools/T68, tools/T69
#[tokio::test]
async fn a_replaced_value_must_be_what_the_tool_declares() {
    let fixture = Fixture::with(counter()).await;
    fixture.reviews(PostDecision::replace_value("eight"));
    let outcome = fixture.call("counter").await;
    let expected = "Error: tool \"counter\" returned invalid output: \"value\" must be an integer";
    assert_eq!((outcome.text().as_str(), outcome.code()), (expected, Some("INVALID_TOOL_OUTPUT")));
}

// spec: tools/T68, tools/T69, cases/A4
#[tokio::test]
async fn a_failure_or_a_denial_has_no_value_to_replace() {
    let fixture = Fixture::with(&Probe::new(Does::Fail)).await;
    fixture.reviews(PostDecision::replace_value("fine"));
    let failed = fixture.call("probe").await;
    assert!(failed.is_error() && failed.text().contains("tools/post-execute"), "{}", failed.text());
    fixture.decides(PreDecision::Deny { reason: "no".to_owned() });
    assert!(fixture.call("probe").await.is_error());
}

// spec: tools/T68, tools/T85
#[tokio::test]
async fn a_blocked_result_leaves_the_feedback_and_the_messages_of_the_policy() {
    let fixture = Fixture::with(counter()).await;
    let image = ContentBlock::Image { attachment: json!({ "attachmentId": "sha256:00", "bytes": 1 }) };
    let feedback = vec![ContentBlock::text("first"), image, ContentBlock::text("second")];
    let block = PostDecision::Block { feedback: feedback.clone(), contexts: vec![message("of the policy")] };
    fixture.reviews(block);
    let outcome = fixture.call("counter").await;
    assert_eq!(outcome.content(), feedback);
    let failure = outcome.as_failure().unwrap();
    assert_eq!((failure.message(), failure.info()), ("first\n[image content]\nsecond", None));
    assert_eq!((outcome.meta(), outcome.concludes_turn()), (None, false));
    assert_eq!(contexts(&outcome), ["of the policy"]);
}

// spec: tools/T68
#[tokio::test]
async fn a_block_without_feedback_says_that_it_is_one() {
    let fixture = Fixture::with(counter()).await;
    for feedback in [Vec::new(), vec![ContentBlock::text("")]] {
        let effect =
            fixture.reviews(PostDecision::Block { feedback: feedback.clone(), contexts: Vec::new() });
        let outcome = fixture.call("counter").await;
        assert_eq!(outcome.as_failure().unwrap().message(), "tool result blocked by post-execute policy");
        assert_eq!(outcome.content(), feedback);
        effect.dispose().await;
    }
}

// spec: tools/T68
#[tokio::test]
async fn a_blocked_denial_stays_a_denial() {
    let fixture = Fixture::with(counter()).await;
    fixture.guard(|_| Some("no".to_owned()));
    fixture.reviews(PostDecision::block("kept back"));
    let outcome = fixture.call("counter").await;
    assert!(outcome.is_denied());
    assert_eq!(outcome.text(), "kept back");
}

// spec: tools/T68, tools/T85
#[tokio::test]
async fn the_outermost_decision_counts() {
    let fixture = Fixture::with(counter()).await;
    let outer = around::<Settled, PostDecision, _>(|settled, next| {
        let rest = next.run(settled);
        Box::pin(async move { rest.await.with_context(message("outer")) })
    });
    fixture.app.on(POST_EXECUTE).run_boxed(outer).unwrap();
    fixture.reviews(PostDecision::block("kept back").with_context(message("inner")));
    let outcome = fixture.call("counter").await;
    assert_eq!(
        (outcome.text().as_str(), contexts(&outcome)),
        ("kept back", vec!["inner".to_owned(), "outer".to_owned()])
    );
}

// spec: tools/T107
#[tokio::test]
async fn the_content_of_a_tool_that_is_gone_can_be_replaced_and_its_value_cannot() {
    for (decision, code) in
        [(PostDecision::replace_text("seven"), None), (PostDecision::replace_value(8), Some("UNKNOWN_TOOL"))]
    {
        let fixture = Fixture::new().await;
        let effect = fixture.register(counter());
        let review = around::<Settled, PostDecision, _>(move |_, _| {
            let (effect, decision) = (effect.clone(), decision.clone());
            Box::pin(async move {
                effect.dispose().await;
                decision
            })
        });
        fixture.app.on(POST_EXECUTE).run_boxed(review).unwrap();
        assert_eq!(fixture.call("counter").await.code(), code);
    }
}

// spec: tools/T68, tools/T108
#[tokio::test]
async fn policies_look_at_an_outcome_that_they_cannot_change_in_place() {
    let fixture = Fixture::with(counter()).await;
    let log = fixture.log.clone();
    let review = around::<Settled, PostDecision, _>(move |settled, _| {
        // The outcome is lent to be read; what is altered here is a copy.
        let altered = settled.outcome().clone().with_content(Vec::new());
        log.note(format!(
            "{} blocks, {} in the copy",
            settled.outcome().content().len(),
            altered.content().len()
        ));
        Box::pin(async { PostDecision::accept() })
    });
    fixture.app.on(POST_EXECUTE).run_boxed(review).unwrap();
    assert_eq!(fixture.call("counter").await.text(), "rendered 7");
    assert_eq!(fixture.log.take(), ["1 blocks, 0 in the copy"]);
}

// spec: tools/T68
#[tokio::test]
async fn a_replacement_is_of_content_or_of_value_and_never_of_both() {
    // There is no decision that holds both: `Replacement` is one of the two.
    for replace in [Replacement::Content(Vec::new()), Replacement::Value(json!(8))] {
        let content = matches!(replace, Replacement::Content(_));
        let fixture = Fixture::with(counter()).await;
        fixture.reviews(PostDecision::Accept { replace: Some(replace), contexts: Vec::new() });
        let outcome = fixture.call("counter").await;
        assert_eq!(outcome.value(), Some(&json!(if content { 7 } else { 8 })));
        assert_eq!(outcome.content().is_empty(), content);
    }
}
