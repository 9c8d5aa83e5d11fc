#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::testing::TestApp;
use dsh_jobs::{JobHooks, JobOutcome, TerminalStatus};
use tokio::sync::oneshot;

use super::*;

// spec: timeout-jobs-hooks/J29
#[tokio::test(start_paused = true)]
async fn a_job_that_has_ended_before_it_could_be_told_to_stop_has_finished() {
    let app = TestApp::new();
    let service = Arc::new(Service::new(&app, Context::clone(&app), &Config::default()));
    service.controllers.attach(&app, "test").unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let hooks = JobHooks {
        cancel: Box::new(|_| Err("there is nothing left to stop".into())),
        done: Box::pin(async move {
            ended.await?;
            Ok(JobOutcome { status: TerminalStatus::Completed, detail: None, output: None })
        }),
        read_output: None,
    };
    let (kind, label) = ("work".to_owned(), "some work".to_owned());
    let run = Box::new(move || Ok(hooks));
    service.start(&app, JobRequest { kind, label, output_limit_bytes: None, owner: None, run }).unwrap();

    // What `kill` does, with the end in between.
    let job = Arc::clone(&service.table.lock().find("work-1", None).unwrap().job);
    let refused = JobCode::cancel(&job.code, None);
    let as_it_was = service.told("work-1", &job, refused).unwrap_err();
    assert!(matches!(as_it_was, KillError::Cancel { .. }), "{as_it_was:?}");
    let refused = JobCode::cancel(&job.code, None);
    end.send(()).unwrap();
    job.ended.cancelled().await;
    app.quiet().await;
    let gone = JobCode::cancel(&job.code, None);
    assert!(matches!(gone, Err(Refused::Gone { .. })), "{gone:?}");
    for told in [gone, refused] {
        let KillOutcome::AlreadyFinished(finished) = service.told("work-1", &job, told).unwrap() else {
            panic!("it has ended")
        };
        assert_eq!((finished.status, finished.reported), (JobStatus::Completed, true));
    }
}
