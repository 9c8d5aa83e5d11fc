//! The tool on this machine's bash, and agents that call it.

use std::path::Path;
use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Context, Fiber, Key, Plugin};
use dsh_agent::testing::{MemoryAgents, agent};
use dsh_agent::{AGENTS, Agent};
use dsh_jobs::{JOBS, JobSnapshot, Jobs};
use dsh_session::{CreateSession, SessionStore};
use dsh_tool_bash::Config;
use dsh_tools::{CallRequest, TOOLS, ToolOutcome};
use dsh_tools_invariants::testing::Watched;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::witness::{PATIENCE, bounded};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) plugin: Fiber,
    pub(crate) shell: Fiber,
    pub(crate) folder: TempDir,
    pub(crate) agents: Arc<MemoryAgents>,
    sessions: SessionStore,
    _watched: Watched,
}

/// What the tool stands on.
pub(crate) struct Below {
    pub(crate) shell: dsh_shell_local::Config,
    pub(crate) jobs: Option<dsh_jobs_local::Config>,
}

impl Default for Below {
    fn default() -> Self {
        Self { shell: Default::default(), jobs: Some(dsh_jobs_local::Config::default()) }
    }
}

impl Fixture {
    /// With a workspace, and jobs that somebody controls.
    pub(crate) async fn new() -> Self {
        Self::with(|config| config).await
    }

    pub(crate) async fn with(change: impl FnOnce(Config) -> Config) -> Self {
        Self::on(Below::default(), change).await
    }

    pub(crate) async fn on(below: Below, change: impl FnOnce(Config) -> Config) -> Self {
        let app = TestApp::new();
        mount(&app, dsh_tools::plugin(), dsh_tools::Config::default()).await;
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let agents = Arc::new(MemoryAgents::default());
        app.provide(AGENTS, agents.service()).unwrap();
        mount(&app, dsh_subprocess_local::plugin(), dsh_subprocess_local::Config::default()).await;
        let shell = mount(&app, dsh_shell_local::plugin(), below.shell).await;
        if let Some(config) = below.jobs {
            mount(&app, dsh_jobs_local::plugin(), config).await;
            service(&app, JOBS, |jobs| jobs.attach_controller(&app, "test").map(drop)).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let plugin = mount(&app, dsh_tool_bash::plugin(), change(Config::new(folder.path()))).await;
        Self { app, plugin, shell, folder, agents, sessions: SessionStore::new(), _watched }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A live agent whose session is in this folder.
    pub(crate) fn agent(&self, id: &str, cwd: Option<&Path>) -> Agent {
        let cwd = cwd.map(|cwd| cwd.display().to_string());
        let options = CreateSession { id: Some(id.to_owned()), cwd, ..CreateSession::default() };
        let (agent, _) = agent(&self.app, self.sessions.create(&self.app, options).unwrap()).unwrap();
        self.agents.add(&agent, None);
        agent
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        bounded(execute(&self.app, request)).await
    }

    pub(crate) async fn call(&self, arguments: Value) -> ToolOutcome {
        self.execute(request(&arguments)).await
    }

    pub(crate) async fn call_until(&self, arguments: Value, cancellation: &CancellationToken) -> ToolOutcome {
        self.execute(request(&arguments).cancellation(cancellation)).await
    }

    pub(crate) async fn run(&self, command: &str) -> ToolOutcome {
        self.call(json!({ "command": command, "description": "test" })).await
    }

    /// Starts a command as a job of nobody, and gives its id.
    pub(crate) async fn start(&self, command: &str) -> String {
        let outcome = self.call(in_background(command)).await;
        job_of(&outcome)
    }

    pub(crate) fn jobs<R>(&self, with: impl FnOnce(&(dyn Jobs + 'static)) -> R) -> R {
        service(&self.app, JOBS, with)
    }

    /// What a job said since the last time.
    pub(crate) fn read(&self, id: &str) -> String {
        self.jobs(|jobs| jobs.read(id, None)).unwrap().text
    }

    /// Waits until a job has ended.
    pub(crate) async fn ended(&self, id: &str) -> JobSnapshot {
        ended(&self.app, id).await
    }

    /// Waits until a job has printed this much.
    pub(crate) async fn printed(&self, id: &str, enough: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        let read = async {
            while !enough(&text) {
                text.push_str(&self.read(id));
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        bounded(read).await;
        text
    }
}

pub(crate) async fn mount<P: Plugin>(ctx: &Context, plugin: P, config: P::Config) -> Fiber {
    let fiber = ctx.plugin(plugin, config).unwrap();
    fiber.ready().await.unwrap();
    fiber
}

pub(crate) fn service<T: ?Sized + Send + Sync + 'static, R>(
    ctx: &Context,
    key: Key<T>,
    with: impl FnOnce(&T) -> R,
) -> R {
    with(&ctx.get(key).unwrap().get().unwrap())
}

pub(crate) async fn execute(ctx: &Context, request: CallRequest) -> ToolOutcome {
    let tools = ctx.get(TOOLS).unwrap();
    let tools = tools.get().unwrap();
    tools.execute(ctx, request).await
}

/// Waits until a job has ended.
pub(crate) async fn ended(ctx: &Context, id: &str) -> JobSnapshot {
    let jobs = ctx.get(JOBS).unwrap();
    let jobs = jobs.get().unwrap();
    let job = jobs.wait(id, PATIENCE, None, &CancellationToken::new()).await.unwrap();
    assert!(job.status.is_terminal(), "{job:?}");
    job
}

pub(crate) fn request(arguments: &Value) -> CallRequest {
    CallRequest::new("call-1", "bash", arguments.to_string())
}

pub(crate) fn in_background(command: &str) -> Value {
    json!({ "command": command, "description": "test", "run_in_background": true })
}

/// The job that a call started.
#[track_caller]
pub(crate) fn job_of(outcome: &ToolOutcome) -> String {
    let value = outcome.value().unwrap_or_else(|| panic!("{}", outcome.text()));
    value["jobId"].as_str().unwrap().to_owned()
}
