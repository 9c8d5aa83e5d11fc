//! The figures of durations in a snapshot.

use dsh_metrics_policy::{CallCode, ToolLabel};
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test(start_paused = true)]
async fn a_row_has_the_sum_the_extremes_the_average_and_quantiles() {
    let fixture = Fixture::new().await;
    for ms in [10, 20, 30, 400] {
        fixture.call(json!({ "ms": ms })).await;
    }
    let snapshot = fixture.snapshot();
    let row = snapshot.get(&ToolLabel::Named("probe".into()), &CallCode::Success).unwrap();
    let durations = row.durations.unwrap();
    let figures = [
        durations.total(),
        durations.min(),
        durations.max(),
        durations.mean(),
        durations.quantile(0.5),
        durations.quantile(0.75),
        durations.quantile(1.0),
    ];
    assert_eq!(figures.map(|figure| figure.as_millis()), [460, 10, 400, 115, 20, 50, 400]);
    assert_eq!(durations.count(), 4);
}
