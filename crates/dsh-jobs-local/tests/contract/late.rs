//! Starts whose work takes longer to begin than somebody waits who ends it.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use cordis::{Context, Fiber};
use dsh_agent::Agent;
use dsh_jobs::{JobSnapshot, StartError};
use tokio::sync::oneshot;

use crate::fixture::{Fixture, obedient_work, request};

/// A start on a thread of its own, whose work is held up while it begins.
struct Late {
    go_on: Sender<()>,
    thread: JoinHandle<Result<JobSnapshot, StartError>>,
}

impl Late {
    /// Returns once the work is held up.
    async fn start(fixture: &Fixture, ctx: Context, owner: Option<&Agent>) -> Self {
        let (go_on, held_up) = channel();
        let (tell, begins) = oneshot::channel();
        let (run, _work) = obedient_work();
        let late = request(
            owner,
            Box::new(move || {
                let _ = tell.send(());
                held_up.recv()?;
                run()
            }),
        );
        let jobs = fixture.jobs.clone();
        let thread = std::thread::spawn(move || jobs.get().unwrap().start(&ctx, late));
        begins.await.unwrap();
        Self { go_on, thread }
    }

    /// Lets the work begin; says who it is that ends, according to the refusal.
    fn refusal(self) -> String {
        self.go_on.send(()).unwrap();
        match self.thread.join().unwrap() {
            Err(StartError::Ending { what }) => what,
            other => panic!("{other:?}"),
        }
    }
}

async fn ends(fiber: &Fiber, step: &str) {
    let disposed = fiber.dispose().await;
    let late: Vec<_> = disposed.still_running.iter().map(|late| &*late.step).collect();
    assert!(late.contains(&step), "{late:?}");
}

fn is_full(fixture: &Fixture, owner: Option<&Agent>) -> bool {
    let (run, _work) = obedient_work();
    matches!(fixture.try_start(request(owner, run)), Err(StartError::Full { .. }))
}

// spec: timeout-jobs-hooks/J24, design/P1
#[tokio::test(start_paused = true)]
async fn a_start_that_outlasts_its_plugin_gives_its_place_back_once_and_names_the_plugin() {
    let fixture = Fixture::with_limit(2).await;
    let agent = fixture.agent("s-1");
    for owner in [None, Some(&agent)] {
        let producer = fixture.producer(&fixture.app).await;
        let late = Late::start(&fixture, producer.context(), owner).await;
        ends(&producer, "end of the job").await;
        // Both places are free again.
        let _works = [fixture.start(owner), fixture.start(owner)];
        assert!(is_full(&fixture, owner));
        let refusal = late.refusal();
        assert!(is_full(&fixture, owner), "the place was given back twice");
        assert_eq!(refusal, format!("`{}`", producer.label()));
    }
    assert!(!agent.scope().is_closed());
}

// spec: timeout-jobs-hooks/J24, timeout-jobs-hooks/J34
#[tokio::test(start_paused = true)]
async fn a_start_that_outlasts_its_owner_names_the_agent() {
    let fixture = Fixture::with_limit(1).await;
    let agent = fixture.agent("s-1");
    let producer = fixture.producer(&fixture.app).await;
    let late = Late::start(&fixture, producer.context(), Some(&agent)).await;
    ends(&agent.context().fiber(), "end of background jobs").await;
    assert_eq!(late.refusal(), "agent `s-1`");
    let successor = fixture.agent("s-1");
    let (_job, _work) = fixture.start(Some(&successor));
    assert!(is_full(&fixture, Some(&successor)));
}

// spec: timeout-jobs-hooks/J35
#[tokio::test(start_paused = true)]
async fn a_start_that_outlasts_the_service_names_the_service() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let producer = fixture.producer(&fixture.app).await;
    let late = Late::start(&fixture, producer.context(), Some(&agent)).await;
    ends(&fixture.service, "end of all jobs").await;
    assert_eq!(late.refusal(), "the jobs service");
}
