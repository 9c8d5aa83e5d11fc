//! The plugin: what it provides, and how it is configured.

use cordis::{ProvideError, catalog};
use dsh_jobs::JOBS;
use dsh_jobs_local::Config;
use serde_json::json;

use crate::fixture::Fixture;

// spec: timeout-jobs-hooks/J20
#[tokio::test(start_paused = true)]
async fn a_second_provider_is_refused() {
    let fixture = Fixture::new().await;
    let second = fixture.app.plugin(dsh_jobs_local::plugin(), Config::default()).unwrap();
    second.ready().await.unwrap_err();
    let error = second.error().unwrap();
    let taken = error.downcast_ref::<ProvideError>();
    assert!(matches!(taken, Some(ProvideError::Taken { service: "jobs", .. })), "{error:?}");
    assert!(fixture.app.get(JOBS).unwrap().is_same(&fixture.jobs));
}

// spec: timeout-jobs-hooks/J24
#[test]
fn ten_jobs_unless_it_is_said() {
    let read = |config| serde_json::from_value::<Config>(config);
    assert_eq!(read(json!({})).unwrap(), Config::default());
    assert_eq!(Config::default().max_active_jobs.get(), 10);
    assert_eq!(read(json!({ "maxActiveJobs": 3 })).unwrap().max_active_jobs.get(), 3);
    for wrong in [json!({ "maxActiveJobs": 0 }), json!({ "maxActiveJobs": -1 }), json!({ "maxJobs": 3 })] {
        read(wrong).unwrap_err();
    }
}

#[test]
fn it_is_in_the_catalogue() {
    assert_eq!(catalog::find("jobs-local").unwrap().provides(), ["jobs"]);
}
