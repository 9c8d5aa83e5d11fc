//! How much a model is shown of a job.

use cordis::{BoxFuture, Next};
use dsh_llm::ContentBlock;
use dsh_tool_jobs::Config;
use dsh_tools::{
    EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Replacement, Settled, ToolCall,
    ToolOutcome,
};
use serde_json::json;

use crate::fixture::{Fixture, Start, Work, around, said};

impl Fixture {
    fn limited(&self, limit: u64) -> Work {
        self.start(Start { limit: Some(limit), streams: false, ..Start::of(&self.ada) })
    }

    /// A job that has ended, with this limit and output.
    async fn ended(&self, limit: u64, output: &str) -> String {
        let work = self.limited(limit);
        let id = work.id().to_owned();
        self.end(work, said(output)).await;
        id
    }

    async fn read(&self, id: &str) -> ToolOutcome {
        self.call("job_output", json!({ "job_id": id })).await
    }

    /// A look at every outcome that gives this decision.
    fn reviews(&self, decision: PostDecision) {
        let listener = around::<Settled, PostDecision, _>(move |_, _| {
            let decision = decision.clone();
            Box::pin(async move { decision })
        });
        self.app.on(POST_EXECUTE).run_boxed(listener).unwrap();
    }
}

/// A listener that denies and asks no other.
fn denial() -> impl for<'a> Fn(&'a mut ToolCall, Next<'a, ToolCall, PreDecision>) -> BoxFuture<'a, PreDecision>
{
    |_, _| Box::pin(async { PreDecision::Deny { reason: "nobody may look at this job".to_owned() } })
}

// spec: timeout-jobs-hooks/J47, timeout-jobs-hooks/J48
#[tokio::test]
async fn of_an_output_that_is_too_long_the_end_is_kept_with_a_mark_and_the_status() {
    let fixture = Fixture::new().await;
    let digits = "0123456789".repeat(5);
    for (limit, output, expected) in [
        (45, &*digits, "456789\n[output truncated]\n[status: completed]"),
        (45, &*format!("{digits}\n"), "456789\n[output truncated]\n[status: completed]"),
        (45, &*format!("{digits}\n\n"), "56789\n\n[output truncated]\n[status: completed]"),
        (50, &*"€".repeat(20), "€€€\n[output truncated]\n[status: completed]"),
        (50, &*format!("{}\n", "😀".repeat(15)), "😀😀\n[output truncated]\n[status: completed]"),
        (38, &*digits, "[output truncated]\n[status: completed]"),
        (20, &*digits, "\n[status: completed]"),
        (1, &*digits, "]"),
        (34, "", "put truncated]\n[status: completed]"),
    ] {
        let id = fixture.ended(limit, output).await;
        let outcome = fixture.read(&id).await;
        assert_eq!(outcome.text(), expected, "{limit}");
        assert_eq!(outcome.value().unwrap()["text"], json!(output), "the value is whole");
    }
}

// spec: timeout-jobs-hooks/J47
#[tokio::test]
async fn what_fits_with_its_status_and_what_has_no_limit_is_left_as_it_is() {
    let fixture = Fixture::new().await;
    let whole = "abcdefghijklmn\n[status: completed]";
    let id = fixture.ended(whole.len() as u64, "abcdefghijklmn\n").await;
    assert_eq!(fixture.read(&id).await.text(), whole);
    let id = fixture.ended(whole.len() as u64 - 1, "abcdefghijklmn").await;
    assert!(fixture.read(&id).await.text().ends_with("truncated]\n[status: completed]"));
    let long = "x".repeat(100_000);
    fixture.end(fixture.quiet(), said(&long)).await;
    assert_eq!(fixture.read("bash-3").await.text(), format!("{long}\n[status: completed]"));
}

// spec: timeout-jobs-hooks/J49
#[tokio::test]
async fn an_output_that_says_already_that_it_was_cut_is_not_marked_twice() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(44, "abcdefghijklmnopqrst\n[output truncated]").await;
    assert_eq!(fixture.read(&id).await.text(), "pqrst\n[output truncated]\n[status: completed]");
}

// spec: timeout-jobs-hooks/J48
#[tokio::test]
async fn a_text_that_a_policy_put_in_its_place_is_cut_as_a_whole() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(30, "short").await;
    fixture.reviews(PostDecision::replace_text("0123456789".repeat(5)));
    let outcome = fixture.read(&id).await;
    assert_eq!(outcome.text(), "90123456789\n[result truncated]");
    assert!(!outcome.is_error() && outcome.value().unwrap()["text"] == json!("short"));
}

// spec: timeout-jobs-hooks/J48
#[tokio::test]
async fn a_text_of_a_policy_that_ends_like_an_answer_is_none() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(40, "short").await;
    fixture.reviews(PostDecision::replace_text(format!("{}\n[status: completed]", "x".repeat(50))));
    assert_eq!(fixture.read(&id).await.text(), "x\n[status: completed]\n[result truncated]");
}

// spec: timeout-jobs-hooks/J48
#[tokio::test]
async fn content_of_several_blocks_or_without_text_is_left_alone() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(30, "short").await;
    let long = || ContentBlock::text("0123456789".repeat(5));
    let blocks = vec![long(), long()];
    let replace = Some(Replacement::Content(blocks.clone()));
    fixture.reviews(PostDecision::Accept { replace, contexts: Vec::new() });
    assert_eq!(fixture.read(&id).await.content(), blocks);

    let fixture = Fixture::new().await;
    let id = fixture.ended(8, "short").await;
    let thought = vec![ContentBlock::Reasoning { text: "0123456789".repeat(5) }];
    let replace = Some(Replacement::Content(thought.clone()));
    fixture.reviews(PostDecision::Accept { replace, contexts: Vec::new() });
    assert_eq!(fixture.read(&id).await.content(), thought);
}

// spec: timeout-jobs-hooks/J48
#[tokio::test]
async fn a_result_that_a_policy_blocks_and_a_failure_are_cut_as_a_whole() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(25, "short").await;
    let arguments = json!({ "job_id": id, "wait": true, "timeout_ms": 0 });
    let failed = fixture.call("job_output", arguments).await;
    assert_eq!(failed.text(), " got 0\n[result truncated]");
    assert!(failed.as_failure().unwrap().message().starts_with("invalid wait timeout"), "the error is whole");
    fixture.reviews(PostDecision::block("this is kept from the model"));
    let blocked = fixture.read(&id).await;
    assert_eq!(blocked.text(), " model\n[result truncated]");
}

// spec: timeout-jobs-hooks/J47, timeout-jobs-hooks/J48
#[tokio::test]
async fn a_denial_is_cut_also_if_the_listener_that_denies_asks_no_other() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(25, "short").await;
    fixture.app.on(PRE_EXECUTE).run_boxed(denial()).unwrap();
    let denied = fixture.read(&id).await;
    assert!(denied.is_denied());
    assert_eq!(denied.text(), "is job\n[result truncated]");
    let killed = fixture.call("job_kill", json!({ "job_id": id })).await;
    assert_eq!(killed.text(), "is job\n[result truncated]");
}

// spec: timeout-jobs-hooks/J47, timeout-jobs-hooks/J48
#[tokio::test]
async fn what_a_wrapper_gives_is_cut() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(25, "short").await;
    let fails = around::<ToolCall, ToolOutcome, _>(|_, _| {
        Box::pin(async { ToolOutcome::failed("the wrapper has had enough") })
    });
    let effect = fixture.app.on(EXECUTE).run_boxed(fails).unwrap();
    assert_eq!(fixture.read(&id).await.text(), "enough\n[result truncated]");
    effect.dispose().await;

    let other = json!({ "text": "0123456789".repeat(3), "job": { "id": "x", "kind": "k", "label": "l", "status": "failed", "startedAt": 1 } });
    let answers = around::<ToolCall, ToolOutcome, _>(move |_, _| {
        let other = other.clone();
        Box::pin(async move { ToolOutcome::success(other) })
    });
    fixture.app.on(EXECUTE).run_boxed(answers).unwrap();
    assert_eq!(fixture.read(&id).await.text(), "uncated]\n[status: failed]");
}

// spec: timeout-jobs-hooks/J47
#[tokio::test]
async fn the_limit_holds_for_a_job_that_is_gone_by_the_end_of_the_call() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(25, "short").await;
    let ada = fixture.ada.clone();
    let ends = around::<ToolCall, ToolOutcome, _>(move |_, _| -> BoxFuture<'_, ToolOutcome> {
        let ada = ada.clone();
        Box::pin(async move {
            ada.context().fiber().dispose().await;
            ToolOutcome::failed("the owner ended meanwhile, with its jobs")
        })
    });
    fixture.app.on(EXECUTE).run_boxed(ends).unwrap();
    let outcome = fixture.read(&id).await;
    assert!(fixture.jobs().get().unwrap().get(&id, Some(&fixture.ada)).is_err(), "the job is still there");
    assert_eq!(outcome.text(), "s jobs\n[result truncated]");
}

// spec: timeout-jobs-hooks/J47
#[tokio::test]
async fn the_limit_is_known_before_a_listener_that_was_there_first_ends_the_call_and_the_job() {
    let fixture = Fixture::bare().await;
    let ada = fixture.ada.clone();
    let denies = around::<ToolCall, PreDecision, _>(move |_, _| -> BoxFuture<'_, PreDecision> {
        let ada = ada.clone();
        Box::pin(async move {
            ada.context().fiber().dispose().await;
            PreDecision::Deny { reason: "the owner ended meanwhile, with its jobs".to_owned() }
        })
    });
    fixture.app.on(PRE_EXECUTE).run_boxed(denies).unwrap();
    fixture.mount(&fixture.app, Config::default()).await;
    let id = fixture.ended(25, "short").await;
    let outcome = fixture.read(&id).await;
    assert!(fixture.jobs().get().unwrap().get(&id, Some(&fixture.ada)).is_err(), "the job is still there");
    assert_eq!(outcome.text(), "s jobs\n[result truncated]");
}

// spec: timeout-jobs-hooks/J47
#[tokio::test]
async fn a_call_that_the_capture_did_not_see_is_cut_by_what_can_be_looked_up() {
    let fixture = Fixture::new().await;
    let id = fixture.ended(25, "short").await;
    fixture.app.on(PRE_EXECUTE).prepend().run_boxed(denial()).unwrap();
    assert_eq!(fixture.read(&id).await.text(), "is job\n[result truncated]");
}

// spec: timeout-jobs-hooks/J47, timeout-jobs-hooks/J48
#[tokio::test]
async fn what_comes_of_a_kill_is_cut_as_a_whole() {
    let fixture = Fixture::new().await;
    let live = fixture.limited(26);
    let outcome = fixture.call("job_kill", json!({ "job_id": live.id() })).await;
    assert_eq!(outcome.text(), " bash-1\n[result truncated]");
    assert_eq!(outcome.value().unwrap()["outcome"], json!("cancellation-requested"));
    let id = fixture.ended(30, "short").await;
    let outcome = fixture.call("job_kill", json!({ "job_id": id })).await;
    assert_eq!(outcome.text(), " completed]\n[result truncated]");
    let id = fixture.ended(200, "short").await;
    let outcome = fixture.call("job_kill", json!({ "job_id": id })).await;
    assert_eq!(outcome.text(), "nothing to cancel: job bash-3 had already finished [status: completed]");
}
