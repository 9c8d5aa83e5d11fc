//! An app with the service, agents that can be registered, and work that ends when a test says so.

use std::sync::Arc;
use std::time::Duration;

use cordis::testing::{Recorder, TestApp};
use cordis::{BoxError, Context, Effect, Fiber, Handle, define};
use dsh_agent::testing::{MemoryAgents, agent};
use dsh_agent::{AGENTS, Agent};
use dsh_jobs::{
    CHANGED, DONE, JOBS, JobDone, JobError, JobHooks, JobOutcome, JobOutput, JobRequest, JobSnapshot,
    JobStart, Jobs, KillOutcome, KillRequest, StartError, TerminalStatus, WaitError,
};
use dsh_jobs_invariants::testing::{Watched, watch};
use dsh_jobs_local::Config;
use dsh_session::Session;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) service: Fiber,
    pub(crate) jobs: Handle<dyn Jobs>,
    pub(crate) agents: Arc<MemoryAgents>,
    /// Whose jobs have changed, in order.
    pub(crate) changed: Recorder<Option<Agent>>,
    pub(crate) done: Recorder<JobDone>,
    /// Violations of the rules of jobs fail the test.
    _watched: Watched,
}

impl Fixture {
    /// With a registry of agents, and a controller for all of them.
    pub(crate) async fn new() -> Self {
        let fixture = Self::bare(Config::default()).await;
        fixture.provide_agents();
        fixture.control(&fixture.app);
        fixture
    }

    /// As [`new`](Self::new), with another limit.
    pub(crate) async fn with_limit(limit: usize) -> Self {
        let fixture = Self::bare(Config { max_active_jobs: limit.try_into().unwrap() }).await;
        fixture.provide_agents();
        fixture.control(&fixture.app);
        fixture
    }

    /// Without either.
    pub(crate) async fn bare(config: Config) -> Self {
        let app = TestApp::new();
        let service = app.plugin(dsh_jobs_local::plugin(), config).unwrap();
        service.ready().await.unwrap();
        let jobs = app.get(JOBS).unwrap();
        let changed = Recorder::of(&app, CHANGED, |changed| changed.owner.clone()).unwrap();
        let done = Recorder::of(&app, DONE, Clone::clone).unwrap();
        let _watched = watch(&app).await;
        Self { app, service, jobs, agents: Arc::default(), changed, done, _watched }
    }

    pub(crate) fn control(&self, ctx: &Context) -> Effect {
        self.jobs.get().unwrap().attach_controller(ctx, "test").unwrap()
    }

    pub(crate) fn provide_agents(&self) -> Effect {
        self.app.provide(AGENTS, self.agents.service()).unwrap()
    }

    /// A registered agent with a scope of its own, in place of one that has its id.
    pub(crate) fn agent(&self, id: &str) -> Agent {
        let (agent, _inbox) = agent(&self.app, Session::detached(id)).unwrap();
        if let Some(old) = self.agents.service().get(agent.id()) {
            self.agents.remove(&old);
        }
        self.agents.add(&agent, None);
        agent
    }

    /// Starts a job of a plugin.
    pub(crate) fn start_of(&self, ctx: &Context, request: JobRequest) -> Result<JobSnapshot, StartError> {
        self.jobs.get().unwrap().start(ctx, request)
    }

    pub(crate) fn try_start(&self, request: JobRequest) -> Result<JobSnapshot, StartError> {
        self.start_of(&self.app, request)
    }

    /// Starts work of the kind `work`, of nobody or of an agent.
    pub(crate) fn start(&self, owner: Option<&Agent>) -> (JobSnapshot, Work) {
        let (run, work) = work();
        (self.try_start(request(owner, run)).unwrap(), work)
    }

    pub(crate) fn get(&self, job: &JobSnapshot, caller: Option<&Agent>) -> JobSnapshot {
        self.jobs.get().unwrap().get(job.id.as_str(), caller).unwrap()
    }

    pub(crate) fn list(&self, caller: Option<&Agent>) -> Vec<String> {
        self.jobs.get().unwrap().list(caller).iter().map(|job| job.id.to_string()).collect()
    }

    pub(crate) fn read(&self, job: &JobSnapshot, caller: Option<&Agent>) -> String {
        self.output(job, caller).unwrap().text
    }

    pub(crate) fn output(&self, job: &JobSnapshot, caller: Option<&Agent>) -> Result<JobOutput, JobError> {
        self.jobs.get().unwrap().read(job.id.as_str(), caller)
    }

    pub(crate) fn kill(
        &self,
        job: &JobSnapshot,
        caller: Option<&Agent>,
        reason: Option<&str>,
    ) -> KillOutcome {
        self.jobs.get().unwrap().kill(KillRequest { id: job.id.as_str(), caller, reason }).unwrap()
    }

    pub(crate) async fn wait(
        &self,
        job: &JobSnapshot,
        time: Duration,
        caller: Option<&Agent>,
        cancellation: &CancellationToken,
    ) -> Result<JobSnapshot, WaitError> {
        let jobs = self.jobs.get().unwrap();
        jobs.wait(job.id.as_str(), time, caller, cancellation).await
    }

    /// Waits until a job has ended and was told, and gives what was told.
    pub(crate) async fn told(&self) -> Vec<JobSnapshot> {
        let mut told = Vec::new();
        until(|| {
            told.extend(self.done.take().into_iter().map(|done| done.job));
            !told.is_empty()
        })
        .await;
        told
    }

    /// A plugin whose context starts jobs.
    pub(crate) async fn producer(&self, ctx: &Context) -> Fiber {
        let fiber = ctx.plugin(define("producer").run(idle), ()).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }
}

async fn idle(_ctx: &Context, _needs: (), _config: &()) -> Result<(), BoxError> {
    Ok(())
}

/// Gives other tasks their turn until something is so.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if is_so() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it does not come to pass");
}

/// Polls a future once.
pub(crate) async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_pending()))
        .await
}

/// The test's side of some work.
pub(crate) struct Work {
    end: Option<oneshot::Sender<Result<JobOutcome, BoxError>>>,
    cancels: Arc<Mutex<Vec<Option<String>>>>,
    said: Arc<Mutex<String>>,
    /// Held by what waits for its end.
    waited_for: Arc<()>,
}

impl Work {
    pub(crate) fn say(&self, text: &str) {
        self.said.lock().push_str(text);
    }

    /// The reasons with which it was told to stop.
    pub(crate) fn cancels(&self) -> Vec<Option<String>> {
        self.cancels.lock().clone()
    }

    pub(crate) fn end(&mut self, outcome: JobOutcome) {
        self.settle(Ok(outcome));
    }

    pub(crate) fn settle(&mut self, outcome: Result<JobOutcome, BoxError>) {
        let _ = self.end.take().unwrap().send(outcome);
    }

    /// Whether nobody waits for its end any more.
    pub(crate) fn is_let_go(&self) -> bool {
        Arc::strong_count(&self.waited_for) == 1
    }

    /// Whether all of the producer's code is gone.
    pub(crate) fn is_dropped(&self) -> bool {
        self.is_let_go() && Arc::strong_count(&self.cancels) == 1 && Arc::strong_count(&self.said) == 1
    }
}

/// Work with a stream of output, which ends when it is told to by the test.
pub(crate) fn work() -> (JobStart, Work) {
    let (start, work) = made(true, Ending::ByTest);
    (start, work)
}

/// Work without a stream.
pub(crate) fn quiet_work() -> (JobStart, Work) {
    made(false, Ending::ByTest)
}

/// Work that ends as killed as soon as it is told to stop.
pub(crate) fn obedient_work() -> (JobStart, Work) {
    made(true, Ending::WhenCancelled)
}

/// Work that cannot be told to stop.
pub(crate) fn stubborn_work(message: &'static str) -> (JobStart, Work) {
    made(true, Ending::Refused(message))
}

enum Ending {
    ByTest,
    WhenCancelled,
    Refused(&'static str),
}

fn made(streams: bool, ending: Ending) -> (JobStart, Work) {
    let (end, ended) = oneshot::channel::<Result<JobOutcome, BoxError>>();
    let work =
        Work { end: Some(end), cancels: Arc::default(), said: Arc::default(), waited_for: Arc::default() };
    let (cancels, said, stop) = (work.cancels.clone(), work.said.clone(), CancellationToken::new());
    let waits = work.waited_for.clone();
    let stopped = stop.clone();
    let start: JobStart = Box::new(move || {
        Ok(JobHooks {
            cancel: Box::new(move |reason| {
                cancels.lock().push(reason.map(str::to_owned));
                match ending {
                    Ending::ByTest => {}
                    Ending::WhenCancelled => stop.cancel(),
                    Ending::Refused(message) => return Err(message.into()),
                }
                Ok(())
            }),
            done: Box::pin(async move {
                let _waits = waits;
                tokio::select! {
                    () = stopped.cancelled() => Ok(outcome(TerminalStatus::Killed)),
                    ended = ended => match ended {
                        Ok(ended) => ended,
                        Err(_) => std::future::pending().await,
                    },
                }
            }),
            read_output: streams.then(|| {
                Box::new(move || std::mem::take(&mut *said.lock())) as Box<dyn Fn() -> String + Send + Sync>
            }),
        })
    });
    (start, work)
}

pub(crate) fn outcome(status: TerminalStatus) -> JobOutcome {
    JobOutcome { status, detail: None, output: None }
}

pub(crate) fn completed() -> JobOutcome {
    outcome(TerminalStatus::Completed)
}

pub(crate) fn request(owner: Option<&Agent>, run: JobStart) -> JobRequest {
    JobRequest {
        kind: "work".into(),
        label: "some work".into(),
        output_limit_bytes: None,
        owner: owner.cloned(),
        run,
    }
}

/// For what must not happen: a start whose work is not to begin.
pub(crate) fn never() -> JobStart {
    Box::new(|| panic!("the work began"))
}
