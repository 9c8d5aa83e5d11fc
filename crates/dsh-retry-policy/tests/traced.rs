//! What is traced of further runs. One test alone in its program: what others first do without a subscriber, tracing may
//! leave out later.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

#[allow(dead_code, reason = "the other test program uses the rest")]
#[path = "contract/fixture.rs"]
mod fixture;

use cordis::log::Recent;
use tracing_subscriber::layer::SubscriberExt;

use fixture::{Fixture, cancelled_after, ms, request, reset_error};

/// Level and fields of what the policy has told.
fn told(recent: &Recent) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let records = recent.records().into_iter();
    let ours = records.filter(|record| record.target.starts_with("dsh_retry_policy"));
    ours.map(|record| (record.level, record.fields)).collect()
}

#[tokio::test(start_paused = true)]
async fn each_further_run_is_traced_with_its_reason_and_its_delay_and_nothing_else_is() {
    let recent = Recent::default();
    let _logged = tracing::subscriber::set_default(tracing_subscriber::registry().with(recent.layer()));

    let fixture = Fixture::new().await;
    let once = fixture.offer(fixture.flaky(1));
    fixture.call().await;
    once.dispose().await;
    let waits = fixture.probe(|number, run| async move {
        run.cancellation().cancelled().await;
        Err(reset_error(number))
    });
    let cancelled = fixture.offer(waits.idempotent());
    fixture.execute(request().cancellation(&cancelled_after(ms(100)))).await;
    cancelled.dispose().await;
    assert_eq!(told(&recent), []);

    let fixture = Fixture::new().await;
    fixture.offer(fixture.flaky(2).idempotent());
    fixture.call().await;
    let fields = |retry: &str, delay: &str| {
        let fields = [
            ("tool", "probe"),
            ("call", "call_1"),
            ("code", "TRANSPORT"),
            ("retry", retry),
            ("max_retries", "3"),
            ("delay_ms", delay),
        ];
        ("info", fields.map(|(name, value)| (name, value.to_owned())).to_vec())
    };
    assert_eq!(told(&recent), [fields("1", "200"), fields("2", "400")]);
}
