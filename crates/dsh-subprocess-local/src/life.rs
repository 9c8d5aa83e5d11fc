//! The life of one process: the task that waits for it, tells it to end, and sees to what it leaves.

use std::sync::Arc;
use std::time::Duration;

use dsh_subprocess::{Exit, WaitError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::kept::Limits;
use crate::table::{Started, Table};

/// How long streams are still read after the process has ended, if something that it started holds them open.
const DRAIN: Duration = Duration::from_secs(1);
/// How long after that what was read may take until it is written to a file.
const FLUSH: Duration = Duration::from_secs(5);

/// How far a process has come.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Runs,
    /// It was reaped.
    Exited(Result<Exit, WaitError>),
    /// Its streams are read as well.
    Collected(Result<Exit, WaitError>),
}

/// All that the task of a process needs.
pub(crate) struct Life {
    pub(crate) started: Arc<Started>,
    pub(crate) table: Arc<Table>,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) grace: Duration,
    /// The tasks that read its streams.
    pub(crate) readers: JoinSet<()>,
    pub(crate) limits: Limits,
    /// The task that writes what it reads.
    pub(crate) feeder: JoinSet<()>,
}

/// Who ended a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    ByItself,
    ByUs,
}

impl Life {
    pub(crate) async fn live(mut self) {
        let exit = self.end().await;
        let ended = self.ended();
        if ended == Ended::ByUs {
            self.started.group.kill();
        }
        self.table.reaped(&self.started);
        self.phase.send_replace(Phase::Exited(exit.clone()));
        self.feeder.shutdown().await;
        if ended == Ended::ByUs {
            // What has left the group may hold the streams.
            self.table.kills.ask(self.started.group.mark().clone()).await;
        }
        self.drain().await;
        if ended == Ended::ByUs {
            self.table.killed(&self.started).await;
        }
        self.phase.send_replace(Phase::Collected(exit));
        self.table.prune().await;
    }

    /// Waits until the process ends by itself or is made to.
    async fn end(&self) -> Result<Exit, WaitError> {
        let Started { group, told, killed, .. } = &*self.started;
        tokio::select! {
            biased;
            exit = group.reaped() => return exit,
            () = self.cancellation.cancelled() => {
                if !self.started.terminate() {
                    return group.reaped().await;
                }
            }
            () = told.cancelled() => {}
            () = killed.cancelled() => {}
        }
        tokio::select! {
            biased;
            exit = group.reaped() => return exit,
            () = killed.cancelled() => {}
            () = sleep(self.grace) => {}
        }
        self.started.kill();
        group.reaped().await
    }

    /// Whoever had a part in its end answers for the rest of its group.
    fn ended(&self) -> Ended {
        let by_us = self.started.group.is_told() || self.started.killed.is_cancelled();
        if by_us { Ended::ByUs } else { Ended::ByItself }
    }

    /// Waits until its streams are read, or all of them that it can have written itself.
    async fn drain(&mut self) {
        if timeout(DRAIN, ended(&mut self.readers)).await.is_ok() {
            return;
        }
        self.limits.enough.cancel();
        if timeout(FLUSH, ended(&mut self.readers)).await.is_err() {
            self.limits.no_file.cancel();
            ended(&mut self.readers).await;
        }
    }
}

async fn ended(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}
