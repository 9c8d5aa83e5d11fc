//! Who starts processes on this machine.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use dsh_subprocess::{
    Output, Process, Reader, ResolveError, SpawnError, SpawnSpec, Stdin, Subprocess, Writer,
};
use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::control::LocalControl;
use crate::group::Group;
use crate::kept::{Kept, Limits, Reading};
use crate::launch::{Leads, Unstarted, check, launch, program};
use crate::life::{Life, Phase};
use crate::mark::Mark;
use crate::resolve::resolve;
use crate::table::{Started, Table};

/// Starts processes on this machine.
pub(crate) struct Local {
    pub(crate) table: Arc<Table>,
    pub(crate) leads: Leads,
    /// The runtime of the plugin's tasks.
    pub(crate) runtime: Handle,
}

/// Where a stream that the process writes goes.
struct Outlet {
    reader: Option<Reader>,
    kept: Option<Arc<Kept>>,
}

impl Subprocess for Local {
    fn resolve_executable(&self, program: &OsStr) -> Result<PathBuf, ResolveError> {
        resolve(program, std::env::var_os("PATH").as_deref())
    }

    fn spawn(&self, spec: SpawnSpec) -> Result<Process, SpawnError> {
        let program = program(&spec)?;
        check(&spec)?;
        let Some(starting) = self.table.starting() else { return Err(SpawnError::Ended { program }) };
        let _runtime = self.runtime.enter();
        // Asked of the runtime before: what fails after the start leaves a process that nobody waits for.
        if let Err(source) = check_runtime() {
            return Err(SpawnError::Start { program, source });
        }
        if let Err(source) = self.table.watchdog.ready() {
            return Err(SpawnError::Watchdog { program, source });
        }
        let (number, mark) = self.table.next();
        let child = match launch(&spec, &mark, self.leads) {
            Ok(child) => child,
            Err(Unstarted { error, may_run }) => {
                if may_run {
                    kill_aside(mark);
                }
                return Err(error);
            }
        };
        let Some(id) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) else {
            let source = io::Error::other("it has no id");
            return Err(SpawnError::Start { program, source });
        };
        let process = self.own(spec, child, |child| Started {
            number,
            group: Group::new(id, mark, child),
            told: CancellationToken::new(),
            killed: CancellationToken::new(),
        });
        drop(starting);
        Ok(process)
    }
}

impl Local {
    /// Answers for a process that was started.
    fn own(&self, spec: SpawnSpec, mut child: Child, started: impl FnOnce(Child) -> Started) -> Process {
        let (mut readers, mut feeder, limits) = (JoinSet::new(), JoinSet::new(), Limits::default());
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let started = Arc::new(started(child));
        self.table.add(Arc::clone(&started));
        let stdin = feed(spec.stdin, stdin, &mut feeder);
        let id = started.group.id().as_raw_nonzero();
        let name = |stream: &str| format!("{}-{stream}", started.number);
        let stdout = self.outlet(spec.stdout, stdout, name("stdout"), &mut readers, &limits);
        let stderr = self.outlet(spec.stderr, stderr, name("stderr"), &mut readers, &limits);
        let (sender, phase) = watch::channel(Phase::Runs);
        let life = Life {
            started: Arc::clone(&started),
            table: Arc::clone(&self.table),
            phase: sender,
            cancellation: spec.cancellation,
            grace: spec.grace,
            readers,
            limits,
            feeder,
        };
        self.table.tasks.spawn(life.live());
        let id = id.get().cast_unsigned();
        let control = LocalControl { id, started, phase, stdout: stdout.kept, stderr: stderr.kept };
        Process::new(Arc::new(control), stdin, stdout.reader, stderr.reader)
    }

    fn outlet(
        &self,
        output: Output,
        stream: Option<impl AsyncRead + AsFd + Unpin + Send + Sync + 'static>,
        name: String,
        readers: &mut JoinSet<()>,
        limits: &Limits,
    ) -> Outlet {
        match (output, stream) {
            (Output::Piped, Some(stream)) => Outlet { reader: Some(Box::pin(stream)), kept: None },
            (Output::Collected(collect), Some(stream)) => {
                let reading = Reading::new(collect, &self.table, name, limits.clone());
                let kept = Some(Arc::clone(&reading.kept));
                readers.spawn(reading.read(stream));
                Outlet { reader: None, kept }
            }
            (Output::Discarded | Output::Inherited | Output::Piped | Output::Collected(_), _) => {
                Outlet { reader: None, kept: None }
            }
        }
    }
}

/// Whether the runtime takes pipes: it may have ended, or have no room.
fn check_runtime() -> io::Result<()> {
    let (reader, _writer) = io::pipe()?;
    ChildStdout::from_std(OwnedFd::from(reader).into()).map(drop)
}

/// Kills what may have been started, on a thread of its own: the runtime is what has failed.
fn kill_aside(mark: Mark) {
    let killer = thread::Builder::new().spawn(move || mark.kill_all());
    if let Err(error) = killer {
        tracing::warn!(%error, "a process whose start has failed may run until the provider ends");
    }
}

/// Writes what the process reads, or hands the pipe out.
fn feed(input: Stdin, pipe: Option<ChildStdin>, feeder: &mut JoinSet<()>) -> Option<Writer> {
    let mut pipe = pipe?;
    match input {
        Stdin::Closed => None,
        Stdin::Piped => Some(Box::pin(pipe)),
        Stdin::Bytes(bytes) => {
            feeder.spawn(async move {
                // One that does not read all of it is fine.
                let _ = pipe.write_all(&bytes).await;
            });
            None
        }
    }
}
