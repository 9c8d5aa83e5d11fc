//! What a request becomes, and who runs it.

use std::collections::BTreeMap;
use std::io;
use std::path::{self, Path, PathBuf};
use std::pin::Pin;

use cordis::Handle;
use dsh_shell::{Background, Shell, ShellError, ShellRequest, ShellResult, ShellSpec};
use dsh_subprocess::{Collect, Output, Process, SpawnError, SpawnSpec, Subprocess};

use crate::command::{CommandLine, Script};
use crate::config::{Config, NAME};
use crate::{background, run};

/// Keeps programs from colouring, paging and asking.
const BASE_ENV: [(&str, &str); 4] =
    [("NO_COLOR", "1"), ("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];

/// Runs commands with this machine's bash.
#[derive(Clone)]
pub(crate) struct LocalShell {
    subprocess: Handle<dyn Subprocess>,
    config: Config,
}

/// A command that was started. The order of fields matters: its script goes after it.
pub(crate) struct Started {
    pub(crate) process: Process,
    pub(crate) script: Option<Script>,
}

impl LocalShell {
    pub(crate) fn new(subprocess: Handle<dyn Subprocess>, config: Config) -> Self {
        Self { subprocess, config }
    }

    /// Starts a command whose streams are collected; its text is the line.
    pub(crate) fn spawn(
        &self,
        line: CommandLine,
        spec: ShellSpec,
        stdout: Collect,
        stderr: Collect,
    ) -> Result<Started, ShellError> {
        let CommandLine { argv, script } = line;
        let mut process = SpawnSpec::new(argv);
        process.cwd = Some(spec.workdir);
        process.env.extend(spec.env);
        process.stdin = spec.stdin;
        process.stdout = Output::Collected(self.with_file(stdout));
        process.stderr = Output::Collected(self.with_file(stderr));
        process.grace = self.config.grace();
        let subprocess = self.subprocess.get().map_err(|_| ShellError::Ended)?;
        let mut process = subprocess.spawn(process).map_err(not_started)?;
        // Nobody can write to it: it ends at once.
        drop(process.take_stdin());
        Ok(Started { process, script })
    }

    fn with_file(&self, collect: Collect) -> Collect {
        Collect { spill_max_bytes: Some(self.config.max_spill_bytes), ..collect }
    }

    fn workdir(&self, wanted: Option<PathBuf>) -> Result<PathBuf, ShellError> {
        let workdir = wanted.as_deref().or(self.config.cwd.as_deref()).unwrap_or(Path::new("."));
        path::absolute(workdir).map_err(|error| bad_workdir(workdir.to_owned(), error))
    }
}

impl Shell for LocalShell {
    fn resolve(&self, request: ShellRequest) -> Result<ShellSpec, ShellError> {
        if request.command.trim().is_empty() {
            return Err(ShellError::NoCommand);
        }
        if request.command.contains('\0') {
            return Err(ShellError::Nul);
        }
        if request.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(ShellError::NoTime { shell: NAME });
        }
        let mut env: BTreeMap<String, String> =
            BASE_ENV.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        env.extend(request.env);
        env.extend(request.managed_env);
        let kept = self.config.max_output_bytes;
        Ok(ShellSpec {
            command: request.command,
            workdir: self.workdir(request.workdir)?,
            timeout: self.config.timeout(request.timeout),
            stdin: request.stdin,
            env,
            max_stdout_bytes: request.max_stdout_bytes.map_or(kept, |wanted| wanted.max(kept)),
            max_stderr_bytes: kept,
            cancellation: request.cancellation,
            live: request.live,
        })
    }

    fn run(&self, spec: ShellSpec) -> Pin<Box<dyn Future<Output = Result<ShellResult, ShellError>> + Send>> {
        Box::pin(run::run(self.clone(), spec))
    }

    fn start(&self, spec: ShellSpec) -> Box<dyn Background> {
        background::start(self, spec)
    }
}

fn not_started(error: SpawnError) -> ShellError {
    match error {
        SpawnError::Cwd { cwd, source } => bad_workdir(cwd, source),
        SpawnError::Ended { .. } => ShellError::Ended,
        other => other.into(),
    }
}

fn bad_workdir(workdir: PathBuf, source: io::Error) -> ShellError {
    ShellError::Workdir { workdir, source }
}
