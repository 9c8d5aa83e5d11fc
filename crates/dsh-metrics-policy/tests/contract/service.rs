//! The service: read by other plugins, gone with the policy.

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, define};
use dsh_metrics_policy::{Config, METRICS, Metrics};
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn another_plugin_reads_the_figures_as_a_need() {
    async fn apply(
        _: &Context,
        metrics: Handle<Metrics>,
        seen: &Arc<Mutex<Vec<u64>>>,
    ) -> Result<(), BoxError> {
        let calls = metrics.get()?.snapshot().calls();
        seen.lock().push(calls);
        Ok(())
    }

    let fixture = Fixture::new().await;
    fixture.call(json!({})).await;
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    let reader = fixture.app.plugin(define("reader").needs(METRICS).run(apply), seen.clone()).unwrap();
    reader.ready().await.unwrap();
    assert_eq!(*seen.lock(), [1]);
}

#[tokio::test]
async fn when_the_policy_is_gone_nothing_is_counted_and_the_service_is_gone() {
    let fixture = Fixture::new().await;
    let before = fixture.app.effects(&fixture.app);
    fixture.policy.dispose().await;
    assert!(fixture.call(json!({})).await.value().is_some());
    assert!(fixture.app.get(METRICS).is_none() && fixture.metrics.get().is_err());
    let again = fixture.app.plugin(dsh_metrics_policy::plugin(), Config::default()).unwrap();
    again.ready().await.unwrap();
    assert_eq!(fixture.app.get(METRICS).unwrap().get().unwrap().snapshot().calls(), 0);
    assert_eq!(fixture.app.effects(&fixture.app), before);
}

#[tokio::test]
async fn mounted_in_a_scope_it_counts_the_calls_of_that_scope() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    let own = scope.context().isolate(METRICS);
    own.plugin(dsh_metrics_policy::plugin(), Config::default()).unwrap().ready().await.unwrap();
    fixture.call(json!({})).await;
    let request = dsh_tools::CallRequest::new("call_2", "probe", "{}").scope(scope.key());
    fixture.execute(request).await;
    assert_eq!(own.get(METRICS).unwrap().get().unwrap().snapshot().calls(), 1);
    assert_eq!(fixture.snapshot().calls(), 2);
}

#[test]
fn the_catalogue_has_the_plugin_with_its_need_and_its_service() {
    let plugin = cordis::catalog::find("metrics-policy").unwrap();
    assert_eq!(plugin.needs().iter().map(|need| need.name.as_str()).collect::<Vec<_>>(), ["tools"]);
    assert_eq!(plugin.provides(), ["metrics"]);
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap().max_series.get(), 1_000);
    assert!(serde_json::from_str::<Config>(r#"{ "maxSeries": 0 }"#).is_err());
}
