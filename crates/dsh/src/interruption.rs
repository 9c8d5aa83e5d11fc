//! How what runs is told to end: politely at first, and in the end without asking.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::app::small_runtime;
use crate::exit::{Exit, say};

/// How long a command that was told to end may take to end what it runs.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may then take to give up.
const LAST_RESORT: Duration = Duration::from_secs(3);
/// How long a run that was told to end may take to close what is open.
const GRACE: Duration = Duration::from_secs(5);
/// How long a user waits for an end without being told.
pub(crate) const SILENCE: Duration = Duration::from_millis(500);
/// What the user is told then.
pub(crate) const STOPPING: &str = "stopping what is still running…";

/// What is said when nothing is waited for any more.
pub(crate) const FORCED: &str = "interrupted; not everything would end";

const UNWATCHED: &str = "cannot watch for signals";

/// What Ctrl-C and a request to end have brought about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption {
    /// The user wants the end: running calls are to stop.
    pub(crate) asked: CancellationToken,
    /// The user has asked twice, or has waited too long: nothing is waited for any more.
    pub(crate) forced: CancellationToken,
}

/// How a run is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Ctrl-C.
    Interrupt,
    /// A request of the system, or of whoever started the program.
    Terminate,
    /// The terminal was closed.
    HangUp,
}

/// A run's end: the first signal asks for it, any other one, or [`GRACE`], brings it about.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown {
    first: watch::Receiver<Option<Ending>>,
}

/// The signals that end a run.
struct Signals {
    interrupts: Signal,
    terminations: Signal,
    hangups: Signal,
}

/// Ctrl-C, from now on. Called in a runtime.
pub(crate) fn interrupts() -> anyhow::Result<Signal> {
    watched(SignalKind::interrupt())
}

impl Interruption {
    /// Watches for signals, as long as the runtime runs.
    ///
    /// If nothing else helps, for example because the thread that prints waits for a reader, this ends the process, after
    /// `tidy_up`.
    pub(crate) fn watch(interrupts: Signal, tidy_up: impl FnOnce() + Send + 'static) -> anyhow::Result<Self> {
        let interruption = Self::default();
        let (terminations, hangups) = (watched(SignalKind::terminate())?, watched(SignalKind::hangup())?);
        for mut signal in [interrupts, terminations, hangups] {
            let Self { asked, forced } = interruption.clone();
            tokio::spawn(async move {
                while signal.recv().await.is_some() {
                    if asked.is_cancelled() {
                        forced.cancel();
                    }
                    asked.cancel();
                }
            });
        }
        let Self { asked, forced } = interruption.clone();
        tokio::spawn(async move {
            asked.cancelled().await;
            let _ = tokio::time::timeout(PATIENCE, forced.cancelled()).await;
            forced.cancel();
            tokio::time::sleep(LAST_RESORT).await;
            say(FORCED);
            tidy_up();
            std::process::exit(Exit::Failed as i32);
        });
        let Self { asked, forced } = interruption.clone();
        // Not the task above: that one must go on even if nobody takes what we print.
        tokio::spawn(async move {
            asked.cancelled().await;
            if tokio::time::timeout(SILENCE, forced.cancelled()).await.is_err() {
                // On a terminal the line of the running call has no end yet.
                if io::stderr().is_terminal() {
                    let _ = writeln!(io::stderr());
                }
                say(format_args!("{STOPPING} (Ctrl-C again: do not wait for it)"));
            }
        });
        Ok(interruption)
    }
}

impl Ending {
    /// What the process then tells its caller.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::Interrupted,
            Self::Terminate => Exit::Fine,
            Self::HangUp => Exit::HungUp,
        }
    }
}

impl Shutdown {
    /// Watches for signals, until the process ends. A thread of its own does: one that waits for somebody to take what it prints
    /// hears nothing.
    ///
    /// Source: the reference's shutdown controller.
    pub(crate) fn watch() -> anyhow::Result<Self> {
        let (told, first) = watch::channel(None);
        let (ready, is_ready) = mpsc::channel();
        let watching = move || {
            let signals = small_runtime().and_then(|runtime| {
                let signals = {
                    let _inside = runtime.enter();
                    Signals::watched()?
                };
                Ok((runtime, signals))
            });
            match signals {
                Ok((runtime, signals)) => {
                    let _ = ready.send(Ok(()));
                    runtime.block_on(signals.heed(&told));
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(watching).context(UNWATCHED)?;
        is_ready.recv().context(UNWATCHED)??;
        Ok(Self { first })
    }

    /// Waits until the run is told to end.
    pub(crate) async fn asked(&self) -> Ending {
        let mut first = self.first.clone();
        match first.wait_for(Option::is_some).await.map(|ending| *ending) {
            Ok(Some(ending)) => ending,
            // Nobody watches any more.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

impl Signals {
    /// Called in a runtime.
    fn watched() -> anyhow::Result<Self> {
        Ok(Self {
            interrupts: watched(SignalKind::interrupt())?,
            terminations: watched(SignalKind::terminate())?,
            hangups: watched(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Ending {
        tokio::select! {
            Some(()) = self.interrupts.recv() => Ending::Interrupt,
            Some(()) = self.terminations.recv() => Ending::Terminate,
            Some(()) = self.hangups.recv() => Ending::HangUp,
            else => std::future::pending().await,
        }
    }

    /// Tells of the first signal; ends the process with the second one, or when it takes too long.
    async fn heed(mut self, told: &watch::Sender<Option<Ending>>) {
        let first = self.next().await;
        told.send_replace(Some(first));
        let ending = tokio::select! {
            second = self.next() => second,
            () = tokio::time::sleep(GRACE) => {
                // Not on this thread: maybe nobody takes what is printed, which is why it has taken so long.
                let saying = thread::spawn(|| say(FORCED));
                let until = Instant::now() + SILENCE;
                while !saying.is_finished() && Instant::now() < until {
                    thread::sleep(Duration::from_millis(10));
                }
                first
            }
        };
        std::process::exit(ending.exit() as i32);
    }
}

fn watched(kind: SignalKind) -> anyhow::Result<Signal> {
    signal(kind).context(UNWATCHED)
}
