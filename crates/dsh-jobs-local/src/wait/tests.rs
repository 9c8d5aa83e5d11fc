#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::Arc;
use std::time::Duration;

use cordis::testing::TestApp;
use dsh_jobs::{JobHooks, JobRequest};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::service::Service;

const MINUTE: Duration = Duration::from_secs(60);

fn waiters(service: &Service) -> usize {
    service.table.lock().find("work-1", None).unwrap().waiters.len()
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn those_who_wait_no_longer_are_forgotten() {
    let app = TestApp::new();
    let service = Arc::new(Service::new(&app, cordis::Context::clone(&app), &Config::default()));
    service.controllers.attach(&app, "test").unwrap();
    let hooks =
        JobHooks { cancel: Box::new(|_| Ok(())), done: Box::pin(std::future::pending()), read_output: None };
    let (kind, label) = ("work".to_owned(), "some work".to_owned());
    let run = Box::new(move || Ok(hooks));
    service.start(&app, JobRequest { kind, label, output_limit_bytes: None, owner: None, run }).unwrap();

    let token = CancellationToken::new();
    let timed_out = service.wait("work-1", Duration::from_millis(1), None, &token);
    let (waited, waiting) = tokio::join!(timed_out, async { waiters(&service) });
    waited.unwrap();
    assert_eq!((waiting, waiters(&service)), (1, 0));

    let (aborted, waiting) = tokio::join!(service.wait("work-1", MINUTE, None, &token), async {
        let waiting = waiters(&service);
        token.cancel();
        waiting
    });
    aborted.unwrap_err();
    assert_eq!((waiting, waiters(&service)), (1, 0));

    let token = CancellationToken::new();
    assert!(
        tokio::time::timeout(Duration::from_millis(1), service.wait("work-1", MINUTE, None, &token))
            .await
            .is_err()
    );
    assert_eq!(waiters(&service), 0);
}
