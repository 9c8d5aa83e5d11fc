//! Processes: one that does nothing, from a small host and from a large one, and one that prints much; each started by the service,
//! and by a call of the tool `bash`.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has nothing to report"
)]

use std::hint::black_box;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cordis::{App, Handle};
use cordis_bench::measure::{pair, settings};
use criterion::{Criterion, criterion_group, criterion_main};
use dsh_subprocess::{Collect, Output, SUBPROCESS, SpawnSpec, Stream, Subprocess};
use dsh_subprocess_local::Config;
use dsh_tools::{CallRequest, TOOLS, ToolRuntime};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::runtime::{Builder, Runtime};

criterion_group! { name = benches; config = settings(); targets = spawn, stream }
criterion_main!(benches);

/// How much memory a large host uses.
const LARGE_BYTES: usize = 1 << 30;
/// What a shell keeps of each stream.
const KEPT_BYTES: usize = 64_000;

/// An app with processes and the tool `bash`.
struct Host {
    subprocess: Handle<dyn Subprocess>,
    tools: Handle<ToolRuntime>,
    app: App,
    runtime: Runtime,
}

impl Host {
    fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (app, subprocess, tools) = runtime.block_on(async {
            let app = App::new().unwrap();
            // As it is without a terminal, wherever this runs.
            let config = Config { own_session: Some(false), ..Config::default() };
            app.plugin(dsh_subprocess_local::plugin(), config).unwrap().ready().await.unwrap();
            app.plugin(dsh_shell_local::plugin(), Default::default()).unwrap().ready().await.unwrap();
            app.plugin(dsh_tools::plugin(), Default::default()).unwrap().ready().await.unwrap();
            let bash = dsh_tool_bash::Config::new(std::env::temp_dir());
            app.plugin(dsh_tool_bash::plugin(), bash).unwrap().ready().await.unwrap();
            let (subprocess, tools) = (app.get(SUBPROCESS).unwrap(), app.get(TOOLS).unwrap());
            (app, subprocess, tools)
        });
        Self { subprocess, tools, app, runtime }
    }

    /// Calls the tool; the text that a model would read.
    async fn call(&self, script: &str) -> String {
        let arguments = json!({ "command": script, "description": "what is measured" });
        let request = CallRequest::new("c1", "bash", arguments);
        let outcome = self.tools.get().unwrap().execute(&self.app, request).await;
        assert!(!outcome.is_error(), "{}", outcome.text());
        outcome.text()
    }

    /// Runs a script to its end; how many bytes it printed.
    async fn run(&self, script: &str) -> u64 {
        let mut spec = SpawnSpec::new(["bash", "-c", script]);
        spec.stdout = Output::Collected(Collect::both_ends(KEPT_BYTES));
        spec.stderr = Output::Collected(Collect::both_ends(KEPT_BYTES));
        let process = self.subprocess.get().unwrap().spawn(spec).unwrap();
        assert_eq!(process.collected().await.unwrap().code, Some(0));
        process.output(Stream::Stdout).unwrap().read(u64::MAX).next
    }
}

/// The same by hand.
async fn by_hand(script: &str) -> usize {
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = bash.spawn().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut printed, mut errors) = (Vec::new(), Vec::new());
    let (status, read, _) =
        tokio::join!(child.wait(), out.read_to_end(&mut printed), err.read_to_end(&mut errors));
    assert!(status.unwrap().success());
    read.unwrap()
}

fn repeated<T>(runtime: &Runtime, run: impl AsyncFn() -> T) -> impl FnMut(u64) -> Duration {
    move |times| {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..times {
                black_box(run().await);
            }
            start.elapsed()
        })
    }
}

/// `bash -c true`, its streams collected; by hand it is a command of the runtime, both streams read into vectors.
fn spawn(c: &mut Criterion) {
    let host = Host::new();
    let ours = repeated(&host.runtime, async || host.run("true").await);
    pair(c, "spawn/true", 4, ours, repeated(&host.runtime, async || by_hand("true").await));

    let ours = repeated(&host.runtime, async || host.call("true").await);
    pair(c, "spawn/bash-tool", 4, ours, repeated(&host.runtime, async || by_hand("true").await));

    let memory = vec![1_u8; LARGE_BYTES];
    let ours = repeated(&host.runtime, async || host.run("true").await);
    pair(c, "spawn/true/large-host", 4, ours, repeated(&host.runtime, async || by_hand("true").await));
    assert_eq!(black_box(memory)[LARGE_BYTES - 1], 1);
}

/// 100 MB are collected, of which both ends are kept; the floor is a `cat` that throws them away, and for the tool a `tee`.
fn stream(c: &mut Criterion) {
    let host = Host::new();
    let ours = repeated(&host.runtime, async || {
        assert_eq!(host.run("head -c 100M /dev/zero").await, 100 << 20);
    });
    let floor = repeated(&host.runtime, async || {
        assert_eq!(by_hand("head -c 100M /dev/zero | cat > /dev/null").await, 0);
    });
    pair(c, "stream/100MB", 1, ours, floor);

    let ours = repeated(&host.runtime, async || {
        assert!(host.call("head -c 100M /dev/zero").await.contains("bytes left out"));
    });
    // The tool keeps all of it in a file.
    let folder = tempfile::tempdir().unwrap();
    let script = format!("head -c 100M /dev/zero | tee {} > /dev/null", folder.path().join("all").display());
    let floor = repeated(&host.runtime, async || assert_eq!(by_hand(&script).await, 0));
    pair(c, "stream/100MB/bash-tool", 1, ours, floor);
}
