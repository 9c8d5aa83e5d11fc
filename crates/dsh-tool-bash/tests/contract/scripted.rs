//! The tool on a shell that does what a test says.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cordis::Fiber;
use cordis::testing::TestApp;
use dsh_shell::{
    Background, BackgroundEnd, BackgroundOutput, BackgroundStatus, SHELL, Shell, ShellError, ShellOutput,
    ShellRequest, ShellResult, ShellSpec,
};
use dsh_subprocess::{Cut, Stdin};
use dsh_tool_bash::Config;
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::fixture::mount;

pub(crate) struct Scripted {
    pub(crate) app: TestApp,
    pub(crate) shell: Arc<ScriptedShell>,
    pub(crate) plugin: Fiber,
    _watched: Watched,
}

#[derive(Default)]
pub(crate) struct ScriptedShell {
    asked: Mutex<Vec<Asked>>,
    result: Mutex<Option<ShellResult>>,
    said: Mutex<Vec<dsh_shell::LiveOutput>>,
    start: Mutex<Option<Start>>,
}

/// What starting a command does.
type Start = Box<dyn FnOnce() -> Running + Send>;

/// A command in the background that ends when it is told how, or is killed.
pub(crate) struct Running {
    ended: watch::Sender<Option<BackgroundEnd>>,
}

/// What a shell was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) command: String,
    pub(crate) workdir: Option<PathBuf>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) reads_nothing: bool,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) managed_env: Vec<(String, String)>,
}

impl Scripted {
    pub(crate) async fn new(config: Config) -> Self {
        let app = TestApp::new();
        mount(&app, dsh_tools::plugin(), dsh_tools::Config::default()).await;
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let shell = Arc::new(ScriptedShell::default());
        app.provide(SHELL, Arc::clone(&shell) as Arc<dyn Shell>).unwrap();
        let plugin = mount(&app, dsh_tool_bash::plugin(), config).await;
        Self { app, shell, plugin, _watched }
    }
}

impl ScriptedShell {
    /// What it was asked for since the last time.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock())
    }

    /// How commands end from now on.
    pub(crate) fn ends(&self, result: ShellResult) {
        *self.result.lock() = Some(result);
    }

    /// What starting a command does, once.
    pub(crate) fn starts(&self, start: impl FnOnce() -> Running + Send + 'static) {
        *self.start.lock() = Some(Box::new(start));
    }

    /// What still tells of output when the commands have ended.
    pub(crate) fn listeners(&self) -> Vec<dsh_shell::LiveOutput> {
        std::mem::take(&mut *self.said.lock())
    }
}

pub(crate) fn ended(stdout: &str) -> ShellResult {
    ShellResult {
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        aborted: false,
        timeout: Duration::from_secs(120),
        stdout: whole(stdout),
        stderr: ShellOutput::default(),
    }
}

pub(crate) fn whole(text: &str) -> ShellOutput {
    ShellOutput { cut: Cut { head: text.to_owned(), ..Cut::default() }, spill_path: None }
}

impl Shell for ScriptedShell {
    fn resolve(&self, request: ShellRequest) -> Result<ShellSpec, ShellError> {
        self.asked.lock().push(Asked {
            command: request.command.clone(),
            workdir: request.workdir.clone(),
            timeout: request.timeout,
            reads_nothing: matches!(request.stdin, Stdin::Closed),
            env: request.env.into_iter().collect(),
            managed_env: request.managed_env.into_iter().collect(),
        });
        Ok(ShellSpec {
            command: request.command,
            workdir: request.workdir.unwrap_or_default(),
            timeout: request.timeout.unwrap_or_default(),
            stdin: request.stdin,
            env: Default::default(),
            max_stdout_bytes: 0,
            max_stderr_bytes: 0,
            cancellation: request.cancellation,
            live: request.live,
        })
    }

    fn run(&self, spec: ShellSpec) -> Pin<Box<dyn Future<Output = Result<ShellResult, ShellError>> + Send>> {
        self.said.lock().extend(spec.live);
        let result = self.result.lock().clone().unwrap_or_else(|| ended("ran"));
        Box::pin(std::future::ready(Ok(result)))
    }

    fn start(&self, _spec: ShellSpec) -> Box<dyn Background> {
        let start = self.start.lock().take().expect("nothing is started in the background here");
        Box::new(start())
    }
}

impl Running {
    pub(crate) fn new() -> Self {
        Self { ended: watch::Sender::new(None) }
    }

    pub(crate) fn ended(end: BackgroundEnd) -> Self {
        Self { ended: watch::Sender::new(Some(end)) }
    }
}

impl Background for Running {
    fn status(&self) -> BackgroundStatus {
        match &*self.ended.borrow() {
            None => BackgroundStatus::Running,
            Some(end) if end.killed => BackgroundStatus::Killed,
            Some(_) => BackgroundStatus::Exited,
        }
    }

    fn read_output(&self) -> BackgroundOutput {
        BackgroundOutput::default()
    }

    fn kill(&self) -> bool {
        self.ended.send_if_modified(|ended| {
            let runs = ended.is_none();
            ended.get_or_insert(BackgroundEnd { killed: true, ..BackgroundEnd::default() });
            runs
        })
    }

    fn done(&self) -> Pin<Box<dyn Future<Output = BackgroundEnd> + Send>> {
        let mut ended = self.ended.subscribe();
        Box::pin(async move { ended.wait_for(Option::is_some).await.unwrap().clone().unwrap() })
    }
}
