//! Two shells: one that gives what it is told to, and one that starts processes.

use std::fs::File;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;
use std::time::Duration;

use dsh_shell::{Background, Shell, ShellError, ShellOutput, ShellRequest, ShellResult, ShellSpec};
use dsh_subprocess::{OutputBuffer, Stdin};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::dialect::Dialect;
use crate::run::HookCommand;

type Running = Pin<Box<dyn Future<Output = Result<ShellResult, ShellError>> + Send>>;

/// Takes a while, then gives one result.
pub(crate) struct Scripted {
    pub(crate) takes: Duration,
    pub(crate) result: Mutex<Option<Result<ShellResult, ShellError>>>,
    /// What it was asked for.
    pub(crate) asked: Mutex<Option<ShellSpec>>,
    /// The error that a request is answered with.
    pub(crate) refuses: Mutex<Option<ShellError>>,
}

/// Starts each command in a process group of its own.
pub(crate) struct Processes {
    folder: TempDir,
    /// What tells a command to end.
    ends: Signal,
}

impl Scripted {
    pub(crate) fn new(result: Result<ShellResult, ShellError>) -> Self {
        let takes = Duration::from_millis(1500);
        Self { takes, result: Mutex::new(Some(result)), asked: Mutex::default(), refuses: Mutex::default() }
    }
}

impl Shell for Scripted {
    fn resolve(&self, request: ShellRequest) -> Result<ShellSpec, ShellError> {
        match self.refuses.try_lock().unwrap().take() {
            Some(error) => Err(error),
            None => Ok(definite(request)),
        }
    }

    fn run(&self, spec: ShellSpec) -> Running {
        *self.asked.try_lock().unwrap() = Some(spec);
        let (takes, result) = (self.takes, self.result.try_lock().unwrap().take().unwrap());
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            result
        })
    }

    fn start(&self, _: ShellSpec) -> Box<dyn Background> {
        unreachable!("a hook runs in the foreground")
    }
}

impl Processes {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), ends: Signal::KILL }
    }

    /// With commands that may have a last word.
    pub(crate) fn terminating() -> Self {
        Self { ends: Signal::TERM, ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Shell for Processes {
    fn resolve(&self, request: ShellRequest) -> Result<ShellSpec, ShellError> {
        Ok(definite(request))
    }

    fn run(&self, spec: ShellSpec) -> Running {
        let (stdout, stderr, ends) = (self.path("stdout"), self.path("stderr"), self.ends);
        Box::pin(async move {
            // Files, so that nothing which holds them open has to be waited for.
            let mut child = tokio::process::Command::new("bash")
                .args(["-c", &spec.command])
                .current_dir(&spec.workdir)
                .envs(&spec.env)
                .stdin(Stdio::piped())
                .stdout(File::create(&stdout).unwrap())
                .stderr(File::create(&stderr).unwrap())
                .process_group(0)
                .spawn()
                .unwrap();
            let group = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let Stdin::Bytes(bytes) = spec.stdin else { unreachable!("a hook has a payload") };
            let writing = tokio::spawn(async move { stdin.write_all(&bytes).await });
            let (mut timed_out, mut aborted) = (false, false);
            let status = tokio::select! {
                status = child.wait() => status,
                () = tokio::time::sleep(spec.timeout) => {
                    timed_out = true;
                    kill_process_group(group, ends).unwrap();
                    child.wait().await
                }
                () = spec.cancellation.cancelled() => {
                    aborted = true;
                    kill_process_group(group, ends).unwrap();
                    child.wait().await
                }
            };
            writing.abort();
            let exit_code = status.unwrap().code();
            let kept = |path, max| {
                let mut buffer = OutputBuffer::new(max / 2, max - max / 2);
                buffer.push(&std::fs::read(path).unwrap());
                ShellOutput { cut: buffer.text(), spill_path: None }
            };
            Ok(ShellResult {
                exit_code,
                signal: exit_code.is_none().then(|| "SIGKILL".to_owned()),
                timed_out,
                aborted,
                timeout: spec.timeout,
                stdout: kept(&stdout, spec.max_stdout_bytes),
                stderr: kept(&stderr, spec.max_stderr_bytes),
            })
        })
    }

    fn start(&self, _: ShellSpec) -> Box<dyn Background> {
        unreachable!("a hook runs in the foreground")
    }
}

fn definite(request: ShellRequest) -> ShellSpec {
    ShellSpec {
        command: request.command,
        workdir: request.workdir.unwrap_or_else(std::env::temp_dir),
        timeout: request.timeout.unwrap(),
        stdin: request.stdin,
        env: request.env,
        max_stdout_bytes: request.max_stdout_bytes.unwrap_or_default().max(64_000),
        max_stderr_bytes: 64_000,
        cancellation: request.cancellation,
        live: request.live,
    }
}

/// A hook of Claude Code about which nothing is said.
pub(crate) fn hook(command: &str) -> HookCommand<'_> {
    HookCommand {
        dialect: Dialect::ClaudeCode,
        command,
        payload: "{}",
        env: Default::default(),
        cwd: None,
        timeout: None,
        cancellation: CancellationToken::new(),
        expected: None,
    }
}

/// How a command ended that printed this.
pub(crate) fn result(exit_code: Option<i32>, stdout: &str, stderr: &str) -> ShellResult {
    let output = |text: &str| {
        let cut = dsh_subprocess::Cut { head: text.to_owned(), ..Default::default() };
        ShellOutput { cut, spill_path: None }
    };
    ShellResult {
        exit_code,
        signal: None,
        timed_out: false,
        aborted: false,
        timeout: Duration::from_secs(600),
        stdout: output(stdout),
        stderr: output(stderr),
    }
}
