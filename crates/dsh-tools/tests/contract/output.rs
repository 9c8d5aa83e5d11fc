//! What a body writes while it runs.

use std::sync::Arc;
use std::time::Duration;

use cordis::Next;
use cordis::testing::Recorder;
use dsh_tools::{
    Config, EXECUTE, ErrorInfo, Failure, OUTPUT, POST_EXECUTE, PostDecision, Settled, ToolCall, ToolError,
    ToolOutcome, ToolRun,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, cancelled_after, tool};

fn written(outcome: &ToolOutcome) -> Option<&str> {
    outcome.as_failure().and_then(Failure::output)
}

// spec: design/P4
#[tokio::test]
async fn each_piece_is_told_at_once_and_an_observer_that_breaks_changes_nothing() {
    let fixture = Fixture::new().await;
    let of_body = fixture.log.clone();
    fixture.register(tool("t", move |run: ToolRun| {
        let log = of_body.clone();
        async move {
            run.write("one ");
            log.note("between");
            run.write("");
            run.write("two");
            Ok(json!("value"))
        }
    }));
    let log = fixture.log.clone();
    fixture
        .app
        .on(OUTPUT)
        .run(move |output| log.note(format!("{} {}", output.call().id(), output.text())))
        .unwrap();
    fixture.app.on(OUTPUT).run(|_| panic!("an observer burst")).unwrap();
    assert_eq!(fixture.call("t").await, ToolOutcome::success("value"));
    assert_eq!(fixture.log.take(), ["c1 one ", "between", "c1 two"]);
}

// spec: tools/T63
#[tokio::test(start_paused = true)]
async fn it_survives_a_cancellation_a_panic_a_failure_and_being_let_go() {
    let fixture = Fixture::new().await;
    fixture.register(tool("stops", async |run| {
        run.write("half");
        run.cancellation().cancelled().await;
        Ok(json!("late"))
    }));
    fixture.register(tool("gives up", async |run| {
        run.write("half");
        run.cancellation().cancelled().await;
        Err(ToolError::aborted())
    }));
    fixture.register(tool("panics", async |run| {
        run.write("half");
        panic!("it burst")
    }));
    fixture.register(tool("hangs", async |run| {
        run.write("half");
        std::future::pending().await
    }));
    for name in ["stops", "gives up", "panics", "hangs"] {
        let outcome = fixture.call_until(name, &cancelled_after(Duration::from_millis(100))).await;
        assert_eq!(written(&outcome), Some("half"), "{name}");
        assert!(outcome.text().starts_with("half\nError: "), "{}", outcome.text());
    }
}

#[tokio::test]
async fn what_a_body_says_itself_about_its_output_counts_more() {
    let fixture = Fixture::with(tool("t", async |run: ToolRun| {
        run.write("raw");
        Err(ToolError::new("it fails").with_output("in its own words"))
    }))
    .await;
    assert_eq!(written(&fixture.call("t").await), Some("in its own words"));
}

#[tokio::test(start_paused = true)]
async fn it_survives_a_limit_that_keeps_polling() {
    let fixture = Fixture::with(tool("hangs", async |run: ToolRun| {
        run.write("half");
        std::future::pending().await
    }))
    .await;
    let limits = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let (mut limited, limit) = call.limited();
        limit.cancel_later();
        next.run(&mut limited)
            .await
            .into_failure(Failure::new("too long").coded(ErrorInfo::fixed("Late", "LATE")))
    };
    fixture.app.on(EXECUTE).run(limits).unwrap();
    let outcome = fixture.call("hangs").await;
    assert_eq!((outcome.code(), written(&outcome)), (Some("LATE"), Some("half")));
}

trait CancelLater {
    fn cancel_later(self);
}

impl CancelLater for CancellationToken {
    fn cancel_later(self) {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.cancel();
        });
    }
}

#[tokio::test]
async fn a_success_that_the_cancellation_ends_before_the_review_leaves_it_and_after_the_review_does_not() {
    let writes = async |run: ToolRun| {
        run.write("unreviewed");
        Ok(json!("value"))
    };
    let token = CancellationToken::new();
    let fixture = Fixture::with(tool("t", writes)).await;
    let cancels = token.clone();
    fixture.turns(move |outcome| {
        cancels.cancel();
        outcome
    });
    assert_eq!(written(&fixture.call_until("t", &token).await), Some("unreviewed"));

    let token = CancellationToken::new();
    let fixture = Fixture::with(tool("t", writes)).await;
    let review =
        async |token: &CancellationToken, settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            token.cancel();
            next.run(settled).await
        };
    fixture.app.on(POST_EXECUTE).with(token.clone()).run(review).unwrap();
    let outcome = fixture.call_until("t", &token).await;
    assert_eq!((outcome.code(), written(&outcome)), (Some("ABORTED"), None));
}

#[tokio::test]
async fn of_much_the_beginning_and_the_end_are_kept() {
    let fixture = Fixture::configured(Config { max_partial_output_bytes: 8, ..Config::default() }).await;
    fixture.register(tool("t", async |run: ToolRun| {
        for piece in ["abcd", "efgh", "ijkl"] {
            run.write(piece);
        }
        Err(ToolError::new("it fails"))
    }));
    let outcome = fixture.call("t").await;
    assert_eq!(written(&outcome), Some("abcd\n… 4 bytes left out …\nijkl"));
}

// spec: tools/T63
#[tokio::test]
async fn what_an_earlier_run_writes_after_the_body_started_over_is_told_and_not_kept() {
    let fixture = Fixture::new().await;
    let heard = Recorder::of(&fixture.app, OUTPUT, |output| output.text().to_owned()).unwrap();
    let runs = Arc::new(Mutex::new(Vec::<ToolRun>::new()));
    let keeps = Arc::clone(&runs);
    fixture.register(tool("t", move |run| {
        let mut runs = keeps.lock();
        run.write(format!("run {} ", runs.len()));
        if let Some(earlier) = runs.first() {
            earlier.write("still run 0 ");
        }
        run.write("ends");
        runs.push(run);
        async { Err(ToolError::new("it fails")) }
    }));
    let again = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let _ = next.clone().run(call).await;
        call.start_over();
        next.run(call).await
    };
    fixture.app.on(EXECUTE).run(again).unwrap();
    assert_eq!(written(&fixture.call("t").await), Some("run 1 ends"));
    assert_eq!(heard.take(), ["run 0 ", "ends", "run 1 ", "still run 0 ", "ends"]);
}
