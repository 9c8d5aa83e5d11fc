//! Every run is judged, and wrappers below the policy are run with the body.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cordis::Next;
use dsh_tools::{EXECUTE, PRE_EXECUTE, PreDecision, ToolCall, ToolOutcome};

use crate::fixture::{Fixture, exact};

async fn count(
    count: &Arc<AtomicUsize>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    count.fetch_add(1, Ordering::SeqCst);
    next.run(call).await
}

// spec: cases/D8
#[tokio::test(start_paused = true)]
async fn guards_and_wrappers_below_run_again_and_those_above_do_not() {
    let fixture = Fixture::bare().await;
    let [above, below, guarded, asked] = [(); 4].map(|()| Arc::new(AtomicUsize::new(0)));
    fixture.app.on(EXECUTE).with(above.clone()).run(count).unwrap();
    fixture.mount(exact()).await;
    fixture.app.on(EXECUTE).with(below.clone()).run(count).unwrap();
    let asks = guarded.clone();
    let guard = move |_: &ToolCall| {
        asks.fetch_add(1, Ordering::SeqCst);
        None
    };
    fixture.tools.get().unwrap().guard(&fixture.app, guard).unwrap();
    fixture
        .app
        .on(PRE_EXECUTE)
        .with(asked.clone())
        .run(async |asked: &Arc<AtomicUsize>, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            asked.fetch_add(1, Ordering::SeqCst);
            next.run(call).await
        })
        .unwrap();
    fixture.offer(fixture.flaky(1).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::success(2));
    let counts = [above, below, guarded, asked].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts, [1, 2, 2, 1]);
}

// spec: cases/D8, design/P7
#[tokio::test(start_paused = true)]
async fn what_a_guard_refuses_meanwhile_is_not_run_again() {
    let fixture = Fixture::new().await;
    let runs = fixture.runs.clone();
    let guard = move |_: &ToolCall| (!runs.lock().is_empty()).then(|| "once is enough".to_owned());
    fixture.tools.get().unwrap().guard(&fixture.app, guard).unwrap();
    fixture.offer(fixture.flaky(1).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::denied("once is enough"));
    assert_eq!((fixture.runs_ms(), fixture.elapsed_ms()), (vec![0], 200));
}
