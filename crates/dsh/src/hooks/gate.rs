//! A shell that runs commands only while it is open.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cordis::Handle;
use dsh_shell::{
    Background, BackgroundEnd, BackgroundOutput, BackgroundStatus, Shell, ShellError, ShellOutput,
    ShellRequest, ShellResult, ShellSpec,
};

/// Stands before a shell. While it is closed commands are not run, and have said nothing.
pub(crate) struct Gate {
    shell: Handle<dyn Shell>,
    open: AtomicBool,
}

impl Gate {
    /// Before this shell, closed.
    pub(crate) fn new(shell: Handle<dyn Shell>) -> Arc<Self> {
        Arc::new(Self { shell, open: AtomicBool::new(false) })
    }

    pub(crate) fn open(&self) {
        self.open.store(true, Ordering::Release);
    }
}

impl Shell for Gate {
    fn resolve(&self, request: ShellRequest) -> Result<ShellSpec, ShellError> {
        self.shell.get().map_err(|_| ShellError::Ended)?.resolve(request)
    }

    fn run(&self, spec: ShellSpec) -> Pin<Box<dyn Future<Output = Result<ShellResult, ShellError>> + Send>> {
        if !self.open.load(Ordering::Acquire) {
            return Box::pin(ready(Ok(silence(&spec))));
        }
        match self.shell.get() {
            Ok(shell) => shell.run(spec),
            Err(_) => Box::pin(ready(Err(ShellError::Ended))),
        }
    }

    /// Hooks run in the foreground.
    fn start(&self, _spec: ShellSpec) -> Box<dyn Background> {
        Box::new(NeverStarted)
    }
}

fn silence(spec: &ShellSpec) -> ShellResult {
    ShellResult {
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        aborted: false,
        timeout: spec.timeout,
        stdout: ShellOutput::default(),
        stderr: ShellOutput::default(),
    }
}

struct NeverStarted;

impl Background for NeverStarted {
    fn status(&self) -> BackgroundStatus {
        BackgroundStatus::Killed
    }

    fn read_output(&self) -> BackgroundOutput {
        BackgroundOutput {
            text: "nothing runs in the background here".to_owned(),
            ..BackgroundOutput::default()
        }
    }

    fn kill(&self) -> bool {
        false
    }

    fn done(&self) -> Pin<Box<dyn Future<Output = BackgroundEnd> + Send>> {
        Box::pin(ready(BackgroundEnd { killed: true, ..BackgroundEnd::default() }))
    }
}
