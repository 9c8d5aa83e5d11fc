//! Starts, ends, waits and unloads from several threads at once.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use cordis::Context;
use dsh_agent::Agent;
use dsh_jobs::{
    DONE, JobError, JobHooks, JobSnapshot, JobStart, KillError, KillRequest, StartError, TerminalStatus,
    WaitError,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, outcome, request};

const LIMIT: i64 = 3;

/// Counts the work that is under way, and is dropped with it.
struct Running(Arc<AtomicI64>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the work of this number cannot be told to stop.
fn refuses(number: u64) -> bool {
    number.is_multiple_of(5)
}

/// Work that ends by itself or when it is told to, as `number` says, and counts what runs of its owner.
fn counted(number: u64, running: &Arc<AtomicI64>, alive: &Arc<()>) -> JobStart {
    let (running, alive) = (running.clone(), alive.clone());
    Box::new(move || {
        let now = running.fetch_add(1, Ordering::SeqCst) + 1;
        let running = Running(running);
        assert!(now <= LIMIT, "{now} jobs of one owner run");
        if number.is_multiple_of(7) {
            return Err("it does not begin".into());
        }
        let (stop, stopped) = (Arc::new(Notify::new()), alive.clone());
        let told = stop.clone();
        Ok(JobHooks {
            cancel: Box::new(move |_| {
                let _ = &alive;
                told.notify_one();
                if refuses(number) { Err("no permission".into()) } else { Ok(()) }
            }),
            done: Box::pin(async move {
                let (_stopped, _running) = (stopped, running);
                tokio::select! {
                    () = stop.notified() => Ok(outcome(TerminalStatus::Killed)),
                    () = tokio::time::sleep(Duration::from_micros(number % 11 * 100)) => match number % 3 {
                        0 => Err("it broke".into()),
                        1 => std::panic::resume_unwind(Box::new("it burst")),
                        _ => Ok(outcome(TerminalStatus::Completed)),
                    },
                }
            }),
            read_output: number.is_multiple_of(2).then(|| Box::new(|| "x".to_owned()) as dsh_jobs::JobRead),
        })
    })
}

struct Shared {
    fixture: Fixture,
    agents: Mutex<Vec<(Agent, Arc<AtomicI64>)>>,
    producers: Mutex<Vec<cordis::Fiber>>,
    numbers: AtomicU64,
    nobody: Arc<AtomicI64>,
    alive: Arc<()>,
}

impl Shared {
    fn next(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn agent(&self, number: u64) -> (Option<Agent>, Arc<AtomicI64>) {
        let agents = self.agents.lock();
        let at = usize::try_from(number).unwrap() % (agents.len() + 1);
        agents
            .get(at)
            .map_or((None, self.nobody.clone()), |(agent, running)| (Some(agent.clone()), running.clone()))
    }

    fn producer(&self, number: u64) -> Context {
        let producers = self.producers.lock();
        producers[usize::try_from(number).unwrap() % producers.len()].context()
    }

    async fn one(&self) {
        let number = self.next();
        let (owner, running) = self.agent(number);
        let run = counted(number, &running, &self.alive);
        let Ok(jobs) = self.fixture.jobs.get() else { return };
        let started = jobs.start(&self.producer(number), request(owner.as_ref(), run));
        let job = match started {
            Ok(job) => job,
            Err(
                StartError::Run(_)
                | StartError::Full { .. }
                | StartError::Ending { .. }
                | StartError::NotLive { .. },
            ) => {
                tokio::task::yield_now().await;
                return;
            }
            Err(other) => panic!("{other:?}"),
        };
        let (id, caller) = (job.id.as_str(), owner.as_ref());
        match number % 4 {
            0 => match jobs.kill(KillRequest { id, caller, reason: None }) {
                Ok(_) | Err(KillError::Job(JobError::Unknown { .. })) => {}
                Err(KillError::Cancel { source, .. }) => {
                    assert!(refuses(number), "job {number} refuses nothing, and failed: {source}");
                }
                Err(other) => panic!("{other:?}"),
            },
            1 => match jobs.read(id, caller) {
                Ok(read) => assert_eq!(read.job.id, job.id),
                Err(JobError::Unknown { .. }) => {}
                Err(other) => panic!("{other:?}"),
            },
            _ => {}
        }
        let token = CancellationToken::new();
        let wait = jobs.wait(id, Duration::from_micros(number % 13 * 50 + 1), caller, &token);
        let (waited, ()) = tokio::join!(wait, async {
            if number.is_multiple_of(6) {
                tokio::task::yield_now().await;
                token.cancel();
            }
        });
        match waited {
            Ok(job) => assert!(job.reported || !job.status.is_terminal()),
            Err(WaitError::Aborted | WaitError::Job(JobError::Unknown { .. })) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn replace_agent(&self, at: usize) {
        let old = self.agents.lock()[at].0.clone();
        let disposed = old.context().fiber().dispose().await;
        assert!(disposed.still_running.is_empty(), "{disposed:?}");
        let new = self.fixture.agent(&format!("s-{at}"));
        self.agents.lock()[at] = (new, Arc::default());
    }

    async fn reload_producer(&self, at: usize) {
        let new = self.fixture.producer(&self.fixture.app).await;
        let old = std::mem::replace(&mut self.producers.lock()[at], new);
        let disposed = old.dispose().await;
        assert!(disposed.still_running.is_empty(), "{disposed:?}");
    }
}

// spec: design/P1, design/P3, timeout-jobs-hooks/J24, timeout-jobs-hooks/J25, timeout-jobs-hooks/J31, timeout-jobs-hooks/J32
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_happens_at_once_each_job_ends_once_and_nothing_is_left() {
    let fixture = Fixture::with_limit(usize::try_from(LIMIT).unwrap()).await;
    let ended: Arc<Mutex<(HashSet<String>, Vec<String>)>> = Arc::default();
    let (sink, told) = (ended.clone(), Arc::new(Notify::new()));
    let tell = told.clone();
    fixture
        .app
        .on(DONE)
        .run(move |done| {
            assert!(done.job.status.is_terminal() && done.job.finished_at.is_some());
            let (ids, twice) = &mut *sink.lock();
            let id = done.job.id.to_string();
            if !ids.insert(id.clone()) {
                twice.push(id);
            }
            tell.notify_one();
        })
        .unwrap();
    let agents = (0..3).map(|at| (fixture.agent(&format!("s-{at}")), Arc::default())).collect();
    let mut producers = Vec::new();
    for _ in 0..3 {
        producers.push(fixture.producer(&fixture.app).await);
    }
    let shared = Arc::new(Shared {
        fixture,
        agents: Mutex::new(agents),
        producers: Mutex::new(producers),
        numbers: AtomicU64::new(1),
        nobody: Arc::default(),
        alive: Arc::default(),
    });
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let shared = shared.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..150 {
                shared.one().await;
            }
        }));
    }
    for at in 0..2 {
        let shared = shared.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..15 {
                shared.replace_agent(at).await;
                shared.reload_producer(at).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    // What is left ends by itself, and all of it is told as long as the service is there.
    let over = async {
        loop {
            let next = told.notified();
            let left = shared.fixture.jobs.get().unwrap().list(None);
            let is_told =
                |job: &JobSnapshot| job.status.is_terminal() && ended.lock().0.contains(job.id.as_str());
            if left.iter().all(is_told) {
                return;
            }
            next.await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), over).await.unwrap();
    let disposed = shared.fixture.service.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert_eq!(Arc::strong_count(&shared.alive), 1, "what the producers handed over is gone");
    let (ids, twice) = &*ended.lock();
    assert_eq!(*twice, [""; 0]);
    assert!(!ids.is_empty());
    shared.fixture.app.assert_no_errors();
}
