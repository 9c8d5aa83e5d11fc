//! An app with a shell, a folder of its own, and short forms for what tests run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_shell::{Background, SHELL, Shell, ShellError, ShellRequest, ShellResult, ShellSpec};
use dsh_shell_local::Config;
use parking_lot::Mutex;
use tempfile::TempDir;

/// Longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);
/// A time limit that only comes if the clock is put forward.
pub(crate) const LIMIT: Duration = Duration::from_secs(600);

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) subprocess: Fiber,
    pub(crate) plugin: Fiber,
    pub(crate) shell: Handle<dyn Shell>,
    pub(crate) folder: TempDir,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(Config::default()).await
    }

    /// Runs in the fixture's folder whatever the configuration says.
    pub(crate) async fn with(config: Config) -> Self {
        let (app, folder) = (TestApp::new(), tempfile::tempdir().unwrap());
        let subprocess =
            app.plugin(dsh_subprocess_local::plugin(), dsh_subprocess_local::Config::default()).unwrap();
        subprocess.ready().await.unwrap();
        let config = Config { cwd: Some(folder.path().to_owned()), ..config };
        let plugin = app.plugin(dsh_shell_local::plugin(), config).unwrap();
        plugin.ready().await.unwrap();
        let shell = app.get(SHELL).unwrap();
        Self { app, subprocess, plugin, shell, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn try_resolve(&self, request: ShellRequest) -> Result<ShellSpec, ShellError> {
        self.shell.get().unwrap().resolve(request)
    }

    pub(crate) fn resolve(&self, request: ShellRequest) -> ShellSpec {
        self.try_resolve(request).unwrap()
    }

    pub(crate) async fn try_run(&self, request: ShellRequest) -> Result<ShellResult, ShellError> {
        let running = self.shell.get().unwrap().run(self.resolve(request));
        tokio::time::timeout(PATIENCE, running).await.expect("the command never ended")
    }

    pub(crate) async fn run(&self, request: ShellRequest) -> ShellResult {
        self.try_run(request).await.unwrap()
    }

    /// Runs a command whose time is over once it has printed this.
    pub(crate) async fn run_out(&self, command: &str, printed: &str) -> ShellResult {
        let (request, said) = told(limited(command, LIMIT));
        let mut running = self.shell.get().unwrap().run(self.resolve(request));
        tokio::select! {
            _ = &mut running => panic!("ended by itself"),
            () = until("it has printed", || said.lock().starts_with(printed)) => {}
        }
        pass(LIMIT).await;
        tokio::time::timeout(PATIENCE, running).await.expect("the command never ended").unwrap()
    }

    /// Runs a command about which nothing else is said.
    pub(crate) async fn bash(&self, command: &str) -> ShellResult {
        self.run(ShellRequest::new(command)).await
    }

    pub(crate) fn start(&self, command: &str) -> Box<dyn Background> {
        self.start_as(ShellRequest::new(command))
    }

    pub(crate) fn start_as(&self, request: ShellRequest) -> Box<dyn Background> {
        self.shell.get().unwrap().start(self.resolve(request))
    }
}

/// Puts the clock forward.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

pub(crate) fn limited(command: &str, timeout: Duration) -> ShellRequest {
    ShellRequest { timeout: Some(timeout), ..ShellRequest::new(command) }
}

/// A request whose live output is kept.
pub(crate) fn told(request: ShellRequest) -> (ShellRequest, Arc<Mutex<String>>) {
    let text: Arc<Mutex<String>> = Arc::default();
    let sink = text.clone();
    let live = Box::new(move |piece: String| sink.lock().push_str(&piece));
    (ShellRequest { live: Some(live), ..request }, text)
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The number that a command has written to a file, once it has.
pub(crate) async fn number_in(file: &Path) -> i32 {
    let read = || std::fs::read_to_string(file).ok()?.strip_suffix('\n')?.parse().ok();
    until("a number is written", || read().is_some()).await;
    read().unwrap()
}

/// Waits until no process has this id any more.
pub(crate) async fn gone(id: i32) {
    until("a process is gone", || !lives(id)).await;
}

pub(crate) fn lives(id: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

/// All that a background command printed, read until its end.
pub(crate) async fn rest_of(job: &dyn Background) -> String {
    tokio::time::timeout(PATIENCE, job.done()).await.expect("the command never ended");
    job.read_output().text
}

/// How a background command ended: its code, its signal, and whether it was killed.
pub(crate) async fn end_of(job: &dyn Background) -> (Option<i32>, Option<String>, bool) {
    let end = tokio::time::timeout(PATIENCE, job.done()).await.expect("the command never ended");
    assert!(end.lost.is_none(), "{end:?}");
    (end.exit_code, end.signal, end.killed)
}
