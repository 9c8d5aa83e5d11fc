//! An app with the provider, and programs that tell of themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_subprocess::{
    Collect, Cut, Exit, Output, Process, SUBPROCESS, SpawnError, SpawnSpec, Spill, Stream, Subprocess,
};
use dsh_subprocess_local::Config;
use tempfile::TempDir;

/// How much is kept of each stream of [`bash`].
pub(crate) const KEPT_BYTES: usize = 64_000;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) fiber: Fiber,
    pub(crate) subprocess: Handle<dyn Subprocess>,
    pub(crate) folder: TempDir,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(Config::default()).await
    }

    pub(crate) async fn with(config: Config) -> Self {
        let app = TestApp::new();
        let fiber = app.plugin(dsh_subprocess_local::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        let subprocess = app.get(SUBPROCESS).unwrap();
        Self { app, fiber, subprocess, folder: tempfile::tempdir().unwrap() }
    }

    /// One whose processes lead sessions, and one whose processes lead groups.
    pub(crate) async fn both() -> [Self; 2] {
        let config = |own_session| Config { own_session: Some(own_session), ..Config::default() };
        [Self::with(config(false)).await, Self::with(config(true)).await]
    }

    pub(crate) fn spawn(&self, spec: SpawnSpec) -> Process {
        self.try_spawn(spec).unwrap()
    }

    pub(crate) fn try_spawn(&self, spec: SpawnSpec) -> Result<Process, SpawnError> {
        self.subprocess.get().unwrap().spawn(spec)
    }

    /// A script in the fixture's folder, both streams collected.
    pub(crate) fn bash(&self, script: &str) -> SpawnSpec {
        let mut spec = bash(script);
        spec.cwd = Some(self.folder.path().to_owned());
        spec
    }

    /// Runs a script to its end: how it ended, and what it printed.
    pub(crate) async fn run(&self, script: &str) -> (Exit, String) {
        let process = self.spawn(self.bash(script));
        let exit = bounded(process.collected()).await.unwrap();
        (exit, stdout(&process).head)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) async fn unload(&self) {
        let disposed = bounded(self.fiber.dispose()).await;
        assert!(disposed.still_running.is_empty(), "{disposed:?}");
        self.app.assert_no_errors();
    }
}

pub(crate) fn bash(script: &str) -> SpawnSpec {
    let mut spec = SpawnSpec::new(["bash", "-c", script]);
    spec.stdout = Output::Collected(Collect::both_ends(KEPT_BYTES));
    spec.stderr = Output::Collected(Collect::both_ends(KEPT_BYTES));
    spec
}

pub(crate) fn code(code: i32) -> Exit {
    Exit { code: Some(code), signal: None }
}

pub(crate) fn signal(signal: i32) -> Exit {
    Exit { code: None, signal: Some(signal) }
}

pub(crate) fn stdout(process: &Process) -> Cut {
    process.output(Stream::Stdout).unwrap().text()
}

pub(crate) fn stderr(process: &Process) -> Cut {
    process.output(Stream::Stderr).unwrap().text()
}

pub(crate) fn spill(process: &Process) -> Spill {
    process.output(Stream::Stdout).unwrap().spill()
}

/// Waits until the output is `enough`.
pub(crate) async fn printed(process: &Process, enough: impl Fn(&str) -> bool) -> String {
    until(|| Some(stdout(process).head).filter(|text| enough(text))).await
}

/// Waits until a process has printed that many lines, each with the id of a process, and gives the ids.
pub(crate) async fn ids(process: &Process, count: usize) -> Vec<u32> {
    let text = printed(process, |text| text.matches('\n').count() >= count).await;
    text.lines().map(|line| line.trim().parse().unwrap()).collect()
}

/// As [`ids`], from a file.
pub(crate) async fn ids_in(file: &Path, count: usize) -> Vec<u32> {
    let text =
        until(|| fs::read_to_string(file).ok().filter(|text| text.matches('\n').count() >= count)).await;
    text.lines().map(|line| line.trim().parse().unwrap()).collect()
}

/// Whether a process runs; one that has ended and was not reaped does not.
pub(crate) fn is_alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until none of the processes runs.
pub(crate) async fn all_gone(ids: &[u32]) {
    until(|| ids.iter().all(|id| !is_alive(*id)).then_some(())).await;
}

/// Waits until there is something. The system has no event for the end of a process that is not our child.
pub(crate) async fn until<T>(look: impl Fn() -> Option<T>) -> T {
    bounded(async {
        loop {
            match look() {
                Some(there) => break there,
                None => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    })
    .await
}

/// Ends a test that waits for what never comes.
pub(crate) async fn bounded<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it never comes")
}
