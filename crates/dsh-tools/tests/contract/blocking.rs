//! Bodies that block a thread of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use cordis::testing::Recorder;
use cordis::{BoxError, Context, Handle, define};
use dsh_tools::{
    BlockingThreads, CallRequest, Config, EXECUTE, ErrorInfo, Failure, OUTPUT, RESULT, Settled, TOOLS,
    ToolCall, ToolDefinition, ToolError, ToolOutcome, ToolRun, ToolRuntime,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, around, contexts, message, request};

/// Bodies that wait on a channel until the test lets them go, whatever else happens.
#[derive(Clone)]
struct Stuck {
    entered: Arc<AtomicUsize>,
    receiver: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Stuck {
    /// The bodies end when the sender is dropped.
    fn new() -> (mpsc::Sender<()>, Self) {
        let (sender, receiver) = mpsc::channel();
        (sender, Self { entered: Arc::default(), receiver: Arc::new(Mutex::new(receiver)) })
    }

    fn entered(&self) -> usize {
        self.entered.load(Ordering::SeqCst)
    }

    fn tool(&self) -> ToolDefinition {
        let stuck = self.clone();
        blocking("stuck", move |run| {
            stuck.entered.fetch_add(1, Ordering::SeqCst);
            run.write("stuck");
            // Either holder of the lock ends with the sender, and the others after it.
            let _ = stuck.receiver.lock().recv();
            Ok(json!("free"))
        })
    }
}

fn blocking(
    name: &'static str,
    body: impl Fn(ToolRun) -> Result<Value, dsh_tools::ToolError> + Send + Sync + 'static,
) -> ToolDefinition {
    ToolDefinition::raw(name, "Blocks.", json!({ "type": "object" })).run_blocking(move |_, run| body(run))
}

/// Lets the runtime run until something holds that threads bring about; a minute of it is a failure.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "the threads do not bring it about");
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
}

fn threads(tools: &Handle<ToolRuntime>) -> BlockingThreads {
    tools.get().unwrap().blocking_threads()
}

/// So many threads with work, and nobody who waits.
fn taken(threads: usize) -> BlockingThreads {
    BlockingThreads { threads, idle: 0, waiting: 0 }
}

/// As many calls wait for a thread.
async fn until_waiting(fixture: &Fixture, calls: usize) {
    until(|| threads(&fixture.tools).waiting == calls).await;
}

fn let_go() -> ToolOutcome {
    let message = "tool call aborted; the tool did not stop within 1s and was let go";
    ToolOutcome::failure(Failure::new(message).coded(ErrorInfo::ABORTED).with_output("stuck"))
}

async fn with_threads(max_blocking_threads: usize) -> Fixture {
    Fixture::configured(Config { body_grace_ms: 1_000, max_blocking_threads, ..Config::default() }).await
}

// spec: tools/T63
#[tokio::test]
async fn the_body_runs_on_a_thread_of_its_own_and_gives_its_value() {
    let fixture = Fixture::new().await;
    fixture.register(blocking("t", |_| Ok(json!(std::thread::current().name()))));
    assert_eq!(fixture.call("t").await.value(), Some(&json!("tool-body")));
    fixture.register(blocking("panics", |_| panic!("it burst")));
    assert_eq!(fixture.call("panics").await, ToolOutcome::failed("tool \"panics\" panicked: it burst"));
    assert_eq!(fixture.call("t").await.value(), Some(&json!("tool-body")));
}

// spec: tools/T63, tools/T110
#[tokio::test(start_paused = true)]
async fn a_hundred_that_never_stop_hold_up_neither_their_calls_nor_the_runtime() {
    let fixture = with_threads(128).await;
    let told = fixture.told();
    let (free, stuck) = Stuck::new();
    let effect = fixture.register(stuck.tool());
    let token = CancellationToken::new();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (ctx, tools) = ((**fixture.app).clone(), fixture.tools.clone());
        let request = CallRequest::new(format!("c{number}"), "stuck", "{}").cancellation(&token);
        calls.spawn(async move { tools.get().unwrap().execute(&ctx, request).await });
    }
    until(|| stuck.entered() == 100).await;
    // The runtime has one thread, which is free for others.
    assert_eq!(tokio::spawn(async { 7 }).await.unwrap(), 7);
    assert_eq!(threads(&fixture.tools), taken(100));

    token.cancel();
    let outcomes = calls.join_all().await;
    assert_eq!(outcomes, vec![let_go(); 100]);
    assert_eq!(told.lock().len(), 100);
    // They run on, and are seen to.
    assert_eq!(threads(&fixture.tools), taken(100));
    let inspection = fixture.app.inspect().to_string();
    assert!(inspection.contains("body of tool \"stuck\" (c99), let go"), "{inspection}");

    drop(free);
    until(|| threads(&fixture.tools).idle == 100).await;
    assert!(!fixture.app.inspect().to_string().contains("let go"));
    assert!(effect.dispose().await.is_clean());
}

// spec: tools/T60, tools/T110
#[tokio::test(start_paused = true)]
async fn when_all_threads_are_taken_a_call_waits_and_its_cancellation_ends_it_at_once() {
    let fixture = with_threads(2).await;
    let (free, stuck) = Stuck::new();
    fixture.register(stuck.tool());
    let token = CancellationToken::new();
    let (one, two) = (fixture.call_until("stuck", &token), fixture.call_until("stuck", &token));
    let more = async {
        until(|| stuck.entered() == 2).await;
        let own = CancellationToken::new();
        let third = fixture.call_until("stuck", &own);
        let cancel = async {
            until_waiting(&fixture, 1).await;
            own.cancel();
        };
        let start = tokio::time::Instant::now();
        let (third, ()) = tokio::join!(third, cancel);
        assert_eq!((third, start.elapsed()), (ToolOutcome::aborted_before_dispatch(), Duration::ZERO));
        assert_eq!(threads(&fixture.tools), taken(2));
        token.cancel();
    };
    let (one, two, ()) = tokio::join!(one, two, more);
    assert_eq!([one, two], [let_go(), let_go()]);
    assert_eq!(stuck.entered(), 2, "the third body never began");
    drop(free);
    until(|| threads(&fixture.tools).idle == 2).await;
    assert!(!fixture.call("stuck").await.is_error(), "the threads serve again");
}

fn no_thread(of: &str) -> ToolOutcome {
    ToolOutcome::failed(format!(
        "there is no thread for tool \"waits\": {of}; call tools that do not block, and have whoever runs this \
         mend those that do not stop, or raise `maxBlockingThreads`"
    ))
}

// spec: tools/T63
#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_for_threads_that_bodies_which_do_not_stop_hold() {
    let fixture = with_threads(2).await;
    let (free, stuck) = Stuck::new();
    fixture.register(stuck.tool());
    fixture.register(blocking("waits", |_| Ok(json!("served"))));
    let token = CancellationToken::new();
    let (one, two) = (fixture.call_until("stuck", &token), fixture.call_until("stuck", &token));
    let waits = async {
        until(|| stuck.entered() == 2).await;
        fixture.call("waits").await
    };
    let cancels = async {
        until(|| stuck.entered() == 2).await;
        until_waiting(&fixture, 1).await;
        token.cancel();
    };
    let (one, two, waits, ()) = tokio::join!(one, two, waits, cancels);
    assert_eq!([one, two], [let_go(), let_go()]);
    let held = "2 bodies that do not stop hold them all, of \"stuck\"";
    assert_eq!(waits, no_thread(held), "it waited when they were let go");
    assert_eq!(fixture.call("waits").await, no_thread(held), "it came later");
    drop(free);
    until(|| threads(&fixture.tools).idle == 2).await;
    assert_eq!(fixture.call("waits").await, ToolOutcome::success("served"));
}

// spec: tools/T63
#[tokio::test(start_paused = true)]
async fn neither_does_it_when_nobody_waits_for_those_bodies() {
    let fixture = with_threads(1).await;
    let (free, stuck) = Stuck::new();
    fixture.register(stuck.tool());
    fixture.register(blocking("waits", |_| Ok(json!("served"))));
    tokio::select! {
        _ = fixture.call("stuck") => panic!("it is stuck"),
        () = until(|| stuck.entered() == 1) => {}
    }
    let held = "a body that does not stop holds the only one, of \"stuck\"";
    assert_eq!(fixture.call("waits").await, no_thread(held));
    drop(free);
}

// spec: tools/T65, tools/T67
#[tokio::test(start_paused = true)]
async fn what_a_body_gives_that_was_let_go_is_no_part_of_the_next_run() {
    let fixture = with_threads(2).await;
    let heard = Recorder::of(&fixture.app, OUTPUT, |output| output.text().to_owned()).unwrap();
    let (free, waits) = mpsc::channel::<()>();
    let (waits, runs) = (Mutex::new(waits), AtomicUsize::new(0));
    fixture.register(blocking("t", move |run| {
        let first = runs.fetch_add(1, Ordering::SeqCst) == 0;
        if first {
            let _ = waits.lock().recv();
        }
        let said = if first { "old" } else { "new" };
        run.write(said);
        run.defer_context(message(said));
        if first {
            run.conclude_turn();
        }
        Err(ToolError::new("it fails"))
    }));
    let free = Arc::new(Mutex::new(Some(free)));
    let twice = around::<ToolCall, ToolOutcome, _>(move |call, next| {
        let free = Arc::clone(&free);
        Box::pin(async move {
            let (mut limited, limit) = call.limited();
            let cancels = async {
                until(|| call.body_was_entered()).await;
                limit.cancel();
            };
            let (first, ()) = tokio::join!(next.clone().run(&mut limited), cancels);
            assert_eq!(first.code(), Some("ABORTED"));
            assert!(call.has_running_body());
            call.start_over();
            drop(free.lock().take());
            until(|| !call.has_running_body()).await;
            next.run(call).await
        })
    });
    fixture.app.on(EXECUTE).run_boxed(twice).unwrap();
    let outcome = fixture.call("t").await;
    assert_eq!(outcome.as_failure(), Some(&Failure::new("it fails").with_output("new")));
    assert_eq!(contexts(&outcome), ["new"]);
    assert_eq!(heard.take(), ["old", "new"]);
}

// spec: design/P7
#[tokio::test]
async fn a_guard_that_comes_while_a_call_waits_for_its_thread_is_asked() {
    let fixture = with_threads(1).await;
    let (free, stuck) = Stuck::new();
    fixture.register(stuck.tool());
    let ran = Arc::new(AtomicUsize::new(0));
    let runs = Arc::clone(&ran);
    fixture.register(blocking("waits", move |_| {
        runs.fetch_add(1, Ordering::SeqCst);
        Ok(json!(null))
    }));
    let guard = async {
        until(|| stuck.entered() == 1).await;
        until_waiting(&fixture, 1).await;
        fixture.guard(|call| (call.name() == "waits").then(|| "too late".to_owned()));
        drop(free);
    };
    let waits = async {
        until(|| stuck.entered() == 1).await;
        fixture.call("waits").await
    };
    let (first, waits, ()) = tokio::join!(fixture.call("stuck"), waits, guard);
    assert_eq!(first, ToolOutcome::success("free"));
    assert_eq!((waits, ran.load(Ordering::SeqCst)), (ToolOutcome::denied("too late"), 0));
}

fn never_begun(tool: &str) -> ToolOutcome {
    let message =
        format!("tool call aborted before dispatch: tool \"{tool}\" was unloaded before it could run");
    ToolOutcome::failure(Failure::new(message).coded(ErrorInfo::ABORTED_BEFORE_DISPATCH))
}

async fn offer(ctx: &Context, tools: Handle<ToolRuntime>, stuck: &Stuck) -> Result<(), BoxError> {
    tools.get()?.register(ctx, stuck.tool())?;
    Ok(())
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn one_that_does_not_stop_is_named_by_the_unloading_of_its_plugin() {
    let fixture = with_threads(4).await;
    let (free, stuck) = Stuck::new();
    let plugin = fixture.app.plugin(define("stubborn").needs(TOOLS).run(offer), stuck.clone()).unwrap();
    plugin.ready().await.unwrap();
    let unload = async {
        until(|| stuck.entered() == 1).await;
        plugin.dispose().await
    };
    // It was never cancelled: the unloading tells the body, and lets go of it.
    let (outcome, disposed) = tokio::join!(fixture.execute(request("stuck")), unload);
    assert_eq!(outcome, let_go());
    let steps: Vec<&str> = disposed.still_running.iter().map(|late| late.step.as_str()).collect();
    assert_eq!(steps, ["tool \"stuck\"", "thread 1 of tool \"stuck\""]);
    assert!(disposed.still_running.iter().all(|late| late.plugin.starts_with("stubborn")), "{disposed}");
    assert_eq!(threads(&fixture.tools), taken(1));
    drop(free);
    until(|| threads(&fixture.tools).idle == 1).await;
}

// spec: design/P1, tools/T110
#[tokio::test(start_paused = true)]
async fn a_hundred_that_do_not_stop_are_told_and_waited_for_together_and_each_is_named() {
    let fixture = with_threads(128).await;
    let (free, stuck) = Stuck::new();
    let plugin = fixture.app.plugin(define("stubborn").needs(TOOLS).run(offer), stuck.clone()).unwrap();
    plugin.ready().await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    let mut call = |name: String, cancellation: &CancellationToken| {
        let (ctx, tools) = ((**fixture.app).clone(), fixture.tools.clone());
        let request = CallRequest::new(name, "stuck", "{}").cancellation(cancellation);
        calls.spawn(async move { tools.get().unwrap().execute(&ctx, request).await });
    };
    // Some of them are let go before, by their calls.
    let token = CancellationToken::new();
    (0..10).for_each(|number| call(format!("early{number}"), &token));
    until(|| stuck.entered() == 10).await;
    token.cancel();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    (0..90).for_each(|number| call(format!("late{number}"), &CancellationToken::new()));
    until(|| stuck.entered() == 100).await;

    let start = tokio::time::Instant::now();
    let unloading = tokio::spawn(async move { plugin.dispose().await });
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(fixture.call("stuck").await.code(), Some("UNKNOWN_TOOL"), "nobody calls it meanwhile");
    let disposed = unloading.await.unwrap();
    let took = start.elapsed();
    assert!(took < Duration::from_millis(1_500), "{took:?}");
    let mut steps: Vec<&str> = disposed.still_running.iter().map(|late| late.step.as_str()).collect();
    steps.sort_unstable();
    let mut expected = vec!["tool \"stuck\"".to_owned()];
    expected.extend((0..10).map(|number| format!("body of tool \"stuck\" (early{number}), let go")));
    // Bodies that were let go have left their places to others.
    expected.extend((1..=90).map(|number| format!("thread {number} of tool \"stuck\"")));
    expected.sort_unstable();
    assert_eq!(steps, expected);
    assert_eq!(calls.join_all().await, vec![let_go(); 100]);
    drop(free);
    until(|| threads(&fixture.tools).idle == 100).await;
}

// spec: design/P1
#[tokio::test]
async fn one_that_heeds_the_unloading_of_its_plugin_ends_with_it() {
    let fixture = with_threads(4).await;
    let entered = Arc::new(AtomicUsize::new(0));
    let enters = Arc::clone(&entered);
    let effect = fixture.register(blocking("heeds", move |run| {
        enters.fetch_add(1, Ordering::SeqCst);
        while !run.is_cancelled() {
            std::thread::yield_now();
        }
        Ok(json!("nobody can render it"))
    }));
    let unload = async {
        until(|| entered.load(Ordering::SeqCst) == 1).await;
        effect.dispose().await
    };
    let (outcome, disposed) = tokio::join!(fixture.call("heeds"), unload);
    assert!(disposed.is_clean(), "{disposed}");
    let message = "tool call aborted: tool \"heeds\" was unloaded while it ran";
    assert_eq!(outcome, ToolOutcome::failure(Failure::new(message).coded(ErrorInfo::ABORTED)));
}

// spec: tools/T63, tools/T71
#[tokio::test]
async fn one_that_heeds_its_cancellation_ends_as_aborted_with_what_it_wrote() {
    let fixture = Fixture::new().await;
    let token = CancellationToken::new();
    let cancels = token.clone();
    fixture.register(blocking("heeds", move |run| {
        run.write("half");
        cancels.cancel();
        assert!(run.is_cancelled());
        Ok(json!("late"))
    }));
    let outcome = fixture.call_until("heeds", &token).await;
    assert_eq!(outcome, ToolOutcome::failure(Failure::aborted().with_output("half")));
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_any_more_tells_its_body() {
    let fixture = Fixture::new().await;
    let (entered, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (enters, ends) = (Arc::clone(&entered), Arc::clone(&ended));
    fixture.register(blocking("heeds", move |run| {
        enters.fetch_add(1, Ordering::SeqCst);
        while !run.is_cancelled() {
            std::thread::yield_now();
        }
        ends.fetch_add(1, Ordering::SeqCst);
        Ok(json!(null))
    }));
    tokio::select! {
        _ = fixture.call("heeds") => panic!("nobody cancels it"),
        () = until(|| entered.load(Ordering::SeqCst) == 1) => {}
    }
    until(|| ended.load(Ordering::SeqCst) == 1).await;
}

// spec: design/P4
#[tokio::test]
async fn a_tool_of_the_waiting_kind_may_be_taken_back_while_its_call_waits_for_a_thread() {
    let fixture = with_threads(1).await;
    let (free, stuck) = Stuck::new();
    fixture.register(stuck.tool());
    let waiting = fixture.register(blocking("waits", |_| Ok(json!(null))));
    let entered: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
    let told = Arc::clone(&entered);
    let tell =
        move |it: &Settled| told.lock().push((it.call().name().to_owned(), it.call().body_was_entered()));
    fixture.app.on(RESULT).global().run(tell).unwrap();
    let take_back = async {
        until(|| stuck.entered() == 1).await;
        until_waiting(&fixture, 1).await;
        assert!(waiting.dispose().await.is_clean());
        until(|| !entered.lock().is_empty()).await;
        drop(free);
    };
    let waits = async {
        until(|| stuck.entered() == 1).await;
        fixture.call("waits").await
    };
    let (_, waits, ()) = tokio::join!(fixture.call("stuck"), waits, take_back);
    assert_eq!(waits, never_begun("waits"));
    assert_eq!(*entered.lock(), [("waits".to_owned(), false), ("stuck".to_owned(), true)]);
}
