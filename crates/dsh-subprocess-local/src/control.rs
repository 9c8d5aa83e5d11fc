//! The provider's side of a process, as its caller holds it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use dsh_subprocess::{Collected, Control, Exit, Stream, WaitError};
use tokio::sync::watch;

use crate::kept::Kept;
use crate::life::Phase;
use crate::table::Started;

/// A process, as its caller holds it.
pub(crate) struct LocalControl {
    pub(crate) id: u32,
    pub(crate) started: Arc<Started>,
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) stdout: Option<Arc<Kept>>,
    pub(crate) stderr: Option<Arc<Kept>>,
}

impl LocalControl {
    /// The exit, once `is_there` says so.
    fn wait(
        &self,
        is_there: fn(&Phase) -> bool,
    ) -> Pin<Box<dyn Future<Output = Result<Exit, WaitError>> + Send>> {
        let (id, mut phase) = (self.id, self.phase.clone());
        Box::pin(async move {
            match phase.wait_for(is_there).await.as_deref() {
                Ok(Phase::Exited(exit) | Phase::Collected(exit)) => exit.clone(),
                // Its task is gone without having come to its end.
                Ok(Phase::Runs) | Err(_) => {
                    Err(WaitError { id, source: Arc::new(io::Error::other("the runtime has ended")) })
                }
            }
        })
    }
}

impl Control for LocalControl {
    fn id(&self) -> u32 {
        self.id
    }

    fn terminate(&self) -> bool {
        self.started.terminate()
    }

    fn kill(&self) {
        self.started.kill();
    }

    fn exited(&self) -> Pin<Box<dyn Future<Output = Result<Exit, WaitError>> + Send>> {
        self.wait(|phase| !matches!(phase, Phase::Runs))
    }

    fn collected(&self) -> Pin<Box<dyn Future<Output = Result<Exit, WaitError>> + Send>> {
        self.wait(|phase| matches!(phase, Phase::Collected(_)))
    }

    fn try_exited(&self) -> Option<Result<Exit, WaitError>> {
        self.started.group.try_exited()
    }

    fn try_collected(&self) -> Option<Result<Exit, WaitError>> {
        match &*self.phase.borrow() {
            Phase::Runs | Phase::Exited(_) => None,
            Phase::Collected(exit) => Some(exit.clone()),
        }
    }

    fn output(&self, stream: Stream) -> Option<Arc<dyn Collected>> {
        let kept = match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        kept.clone().map(|kept| kept as Arc<dyn Collected>)
    }

    fn let_go(&self) {
        self.started.let_go();
    }
}
