//! An app with tools, jobs and the plugin, agents that are live, and producers that do what a test wants.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, BoxFuture, Context, Effect, Fiber, Handle, Next};
use dsh_agent::testing::{MemoryAgents, MemoryDriver, Sent, parts};
use dsh_agent::{
    AGENTS, Agent, AgentStatus, Driver, PRE_STEP, PreStep, PreStepDecision, STATUS, StatusChange, Target,
    Wakeup,
};
use dsh_jobs::{
    DONE, JOBS, JobDone, JobHooks, JobOutcome, JobRequest, JobSnapshot, Jobs, StartError, TerminalStatus,
};
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_session::{CreateSession, SessionStore};
use dsh_tool_jobs::Config;
use dsh_tools::{CallRequest, TOOLS, ToolOutcome, ToolRuntime};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) agents: Arc<MemoryAgents>,
    pub(crate) sessions: SessionStore,
    pub(crate) ada: Agent,
    pub(crate) inbox: Arc<MemoryDriver>,
    /// The plugin that provides the jobs, and the registration of the registry.
    pub(crate) provider: Option<Fiber>,
    pub(crate) registry: Effect,
    _watched: Watched,
    _watched_jobs: Option<dsh_jobs_invariants::testing::Watched>,
}

/// The producer's side of a job that a test started.
pub(crate) struct Work {
    pub(crate) job: JobSnapshot,
    done: oneshot::Sender<Result<JobOutcome, BoxError>>,
    /// What it says until it is read next.
    said: Arc<Mutex<String>>,
    /// The reasons with which it was told to stop.
    pub(crate) cancels: Arc<Mutex<Vec<Option<String>>>>,
}

/// A job that a test starts.
pub(crate) struct Start {
    pub(crate) kind: &'static str,
    pub(crate) label: String,
    pub(crate) limit: Option<u64>,
    pub(crate) owner: Option<Agent>,
    pub(crate) streams: bool,
    pub(crate) cancel: Cancel,
}

/// What a producer does that is told to stop.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Cancel {
    /// It takes note.
    Notes,
    /// It refuses.
    Fails,
}

impl Fixture {
    /// With the agent `ada`, tools and a registry, and without jobs.
    pub(crate) async fn without_jobs() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let (tools, sessions, agents) =
            (app.get(TOOLS).unwrap(), SessionStore::new(), Arc::<MemoryAgents>::default());
        let registry = app.provide(AGENTS, agents.service()).unwrap();
        let inbox = Arc::new(MemoryDriver::default());
        let ada = agent(&app, &sessions, "ada", inbox.clone());
        agents.add(&ada, None);
        Self {
            app,
            tools,
            agents,
            sessions,
            ada,
            inbox,
            provider: None,
            registry,
            _watched,
            _watched_jobs: None,
        }
    }

    /// With jobs, and without the plugin yet.
    pub(crate) async fn bare() -> Self {
        let mut fixture = Self::without_jobs().await;
        let jobs = fixture.app.plugin(dsh_jobs_local::plugin(), dsh_jobs_local::Config::default()).unwrap();
        jobs.ready().await.unwrap();
        fixture.provider = Some(jobs);
        fixture._watched_jobs = Some(dsh_jobs_invariants::testing::watch(&fixture.app).await);
        fixture
    }

    pub(crate) async fn new() -> Self {
        Self::with(Config::default()).await
    }

    pub(crate) async fn with(config: Config) -> Self {
        let fixture = Self::bare().await;
        fixture.mount(&fixture.app, config).await;
        fixture
    }

    pub(crate) async fn mount(&self, ctx: &Context, config: Config) -> Fiber {
        let fiber = ctx.plugin(dsh_tool_jobs::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }

    /// Another live agent.
    pub(crate) fn agent(&self, id: &str) -> (Agent, Arc<MemoryDriver>) {
        let inbox = Arc::new(MemoryDriver::default());
        let agent = agent(&self.app, &self.sessions, id, inbox.clone());
        self.agents.add(&agent, None);
        (agent, inbox)
    }

    pub(crate) fn jobs(&self) -> Handle<dyn Jobs> {
        self.app.get(JOBS).unwrap()
    }

    pub(crate) fn try_start(&self, start: Start) -> Result<Work, StartError> {
        let Start { kind, label, limit, owner, streams, cancel } = start;
        let (done, ended) = oneshot::channel::<Result<JobOutcome, BoxError>>();
        let (said, cancels) = (Arc::<Mutex<String>>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (speaks, hears) = (said.clone(), cancels.clone());
        let hooks = JobHooks {
            cancel: Box::new(move |reason| {
                hears.lock().push(reason.map(str::to_owned));
                if cancel == Cancel::Fails { Err("it does not stop".into()) } else { Ok(()) }
            }),
            done: Box::pin(async move { ended.await.unwrap_or_else(|_| Err("left alone".into())) }),
            read_output: match streams {
                true => Some(Box::new(move || std::mem::take(&mut *speaks.lock()))),
                false => None,
            },
        };
        let request = JobRequest {
            kind: kind.to_owned(),
            label,
            output_limit_bytes: limit,
            owner,
            run: Box::new(move || Ok(hooks)),
        };
        let job = self.jobs().get().unwrap().start(&self.app, request)?;
        Ok(Work { job, done, said, cancels })
    }

    pub(crate) fn start(&self, start: Start) -> Work {
        self.try_start(start).unwrap()
    }

    /// A job of ada that speaks while it runs.
    pub(crate) fn stream(&self) -> Work {
        self.start(Start::of(&self.ada))
    }

    /// A job of ada that says all at its end.
    pub(crate) fn quiet(&self) -> Work {
        self.start(Start { streams: false, ..Start::of(&self.ada) })
    }

    /// Has the work end, and waits until everybody was told.
    pub(crate) async fn end(&self, work: Work, outcome: JobOutcome) {
        self.finish(work, Ok(outcome)).await;
    }

    pub(crate) async fn finish(&self, work: Work, outcome: Result<JobOutcome, BoxError>) {
        let (told, heard) = oneshot::channel();
        let (told, id) = (Mutex::new(Some(told)), work.job.id);
        let hear = move |done: &JobDone| {
            if done.job.id == id
                && let Some(told) = told.lock().take()
            {
                told.send(()).unwrap();
            }
        };
        let effect = self.app.on(DONE).global().run(hear).unwrap();
        work.done.send(outcome).unwrap();
        heard.await.unwrap();
        effect.dispose().await;
    }

    /// A call of ada.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutcome {
        self.call_of(&self.ada, tool, arguments).await
    }

    pub(crate) async fn call_of(&self, agent: &Agent, tool: &str, arguments: Value) -> ToolOutcome {
        self.execute(CallRequest::new("call_1", tool, arguments).agent(agent)).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    pub(crate) fn status(&self, agent: &Agent, status: AgentStatus) {
        self.app.emit(STATUS, &StatusChange { agent: agent.clone(), status });
    }

    /// A step of the agent that begins with messages of these sources.
    pub(crate) async fn step(&self, agent: &Agent, sources: Vec<Source>) -> PreStepDecision {
        async fn enter(_: &(), step: &mut PreStep) -> PreStepDecision {
            PreStepDecision::Enter { messages: step.messages.clone() }
        }
        let message = |source| Arc::new(Message::new(Role::User, vec![ContentBlock::text("hello")], source));
        let mut step = PreStep {
            agent: agent.clone(),
            messages: sources.into_iter().map(message).collect(),
            turn: 1,
            step: 1,
            cancellation: CancellationToken::new(),
        };
        self.app.waterfall(PRE_STEP, &mut step, &(), enter).await.unwrap()
    }
}

impl Work {
    pub(crate) fn id(&self) -> &str {
        self.job.id.as_str()
    }

    pub(crate) fn say(&self, text: &str) {
        self.said.lock().push_str(text);
    }

    /// Has the work end; nobody waits until it is told.
    pub(crate) fn stop(self) {
        self.done.send(Ok(completed("stopped"))).unwrap();
    }
}

impl Start {
    pub(crate) fn of(owner: &Agent) -> Self {
        Self {
            kind: "bash",
            label: "echo hi".to_owned(),
            limit: None,
            owner: Some(owner.clone()),
            streams: true,
            cancel: Cancel::Notes,
        }
    }
}

/// An agent of a session of this id, that nobody knows of yet.
pub(crate) fn agent(app: &Context, sessions: &SessionStore, id: &str, driver: Arc<dyn Driver>) -> Agent {
    let session = match sessions.get(id) {
        Some(session) => session,
        None => {
            let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
            sessions.create(app, options).unwrap()
        }
    };
    let scope = app.scope().unwrap();
    Agent::new(parts(session, scope, driver))
}

pub(crate) fn completed(detail: &str) -> JobOutcome {
    JobOutcome { status: TerminalStatus::Completed, detail: Some(detail.to_owned()), output: None }
}

/// An end with everything that the job had to say.
pub(crate) fn said(output: &str) -> JobOutcome {
    JobOutcome { status: TerminalStatus::Completed, detail: None, output: Some(output.to_owned()) }
}

/// What was sent, as text, target and wakeup.
pub(crate) fn sent(inbox: &MemoryDriver) -> Vec<(String, Target, Wakeup)> {
    inbox.take().iter().map(|Sent { message, target, wakeup }| (message.text(), *target, *wakeup)).collect()
}

/// How what was sent was to reach the agent.
pub(crate) fn ways(inbox: &MemoryDriver) -> Vec<(Target, Wakeup)> {
    sent(inbox).into_iter().map(|(_, target, wakeup)| (target, wakeup)).collect()
}

pub(crate) const WOKEN: (Target, Wakeup) = (Target::NextTurn, Wakeup::Wake);
pub(crate) const QUEUED: (Target, Wakeup) = (Target::NextStep, Wakeup::Wait);

/// Lets others run until it is so.
pub(crate) async fn until(so: impl Fn() -> bool) {
    while !so() {
        tokio::task::yield_now().await;
    }
}

/// A listener that may capture: names the signature, so that the compiler sees its lifetimes.
pub(crate) fn around<A, R, F>(listener: F) -> F
where
    F: for<'a> Fn(&'a mut A, Next<'a, A, R>) -> BoxFuture<'a, R> + Send + Sync + 'static,
    A: 'static,
    R: 'static,
{
    listener
}
