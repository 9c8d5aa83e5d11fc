//! A command in the background.
//!
//! **Invariants**
//! 1. Each byte of a stream is given once: whoever moves the place where it is read on gives what was before it.
//! 2. A character is given whole. While its stream goes on, one that is cut at the end waits for the next read.

use std::future::ready;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use dsh_shell::{Background, BackgroundEnd, BackgroundOutput, BackgroundStatus, ShellSpec, push_line};
use dsh_subprocess::{Collect, Collected, Process, Spill, Stream, TextCursor};
use parking_lot::Mutex;
use tokio::sync::RwLock;

use crate::command::{CommandLine, Script};
use crate::local::{LocalShell, Started};
use crate::signal;

/// A command that was started. The order of fields matters: its script goes after it.
struct Running {
    process: Process,
    /// It was told to end before it had ended. Held by whoever tells it: until then nobody learns who ended it.
    killed: Arc<RwLock<bool>>,
    stdout: Reading,
    stderr: Reading,
    script: Mutex<Option<Script>>,
}

/// A stream that is read piece by piece.
struct Reading {
    stream: Option<Arc<dyn Collected>>,
    /// Where to read on. Not locked while the stream is asked.
    cursor: Mutex<TextCursor>,
}

/// What was read of a stream.
#[derive(Default)]
struct Piece {
    text: String,
    dropped: u64,
    spill_path: Option<PathBuf>,
}

/// A command that could not be started.
struct Unstarted {
    reason: Mutex<Option<String>>,
}

/// See [`Shell::start`](dsh_shell::Shell::start).
pub(crate) fn start(shell: &LocalShell, mut spec: ShellSpec) -> Box<dyn Background> {
    // Of what nobody read in time the newest is kept: what was before it is gone in one piece.
    let collect = |tail_bytes| Collect { tail_bytes, ..Collect::default() };
    let (out, err) = (collect(spec.max_stdout_bytes), collect(spec.max_stderr_bytes));
    let line = CommandLine::new(std::mem::take(&mut spec.command));
    match line.and_then(|line| shell.spawn(line, spec, out, err)) {
        Ok(started) => Box::new(Running::new(started)),
        Err(error) => Box::new(Unstarted {
            reason: Mutex::new(Some(format!("spawn failed: {}", cordis::chain(&error)))),
        }),
    }
}

impl Running {
    fn new(Started { process, script }: Started) -> Self {
        let stdout = Reading::new(process.output(Stream::Stdout));
        let stderr = Reading::new(process.output(Stream::Stderr));
        Self { process, killed: Arc::default(), stdout, stderr, script: Mutex::new(script) }
    }

    /// Whether all that it printed is there.
    fn is_over(&self) -> bool {
        let over = self.process.try_collected().is_some();
        if over {
            let script = self.script.lock().take();
            drop(script);
        }
        over
    }
}

impl Background for Running {
    fn status(&self) -> BackgroundStatus {
        if !self.is_over() {
            return BackgroundStatus::Running;
        }
        match self.killed.try_read().as_deref() {
            Ok(false) => BackgroundStatus::Exited,
            Ok(true) => BackgroundStatus::Killed,
            Err(_) => BackgroundStatus::Running,
        }
    }

    fn read_output(&self) -> BackgroundOutput {
        // Asked before it is read: what comes in between waits for the next time.
        let over = self.is_over();
        let stdout = self.stdout.read(over);
        let stderr = self.stderr.read(over);
        BackgroundOutput {
            text: joined(stdout.text, &stderr.text),
            dropped: stdout.dropped + stderr.dropped,
            spill_paths: stdout.spill_path.into_iter().chain(stderr.spill_path).collect(),
        }
    }

    fn kill(&self) -> bool {
        // Somebody else has it only to do the same, or because the command has ended.
        let Ok(mut killed) = self.killed.try_write() else { return false };
        if *killed {
            return false;
        }
        *killed = self.process.terminate();
        *killed
    }

    fn done(&self) -> Pin<Box<dyn Future<Output = BackgroundEnd> + Send>> {
        let (collected, killed) = (self.process.collected(), Arc::clone(&self.killed));
        Box::pin(async move {
            let ended = collected.await;
            let killed = *killed.read().await;
            match ended {
                Ok(exit) => BackgroundEnd {
                    exit_code: exit.code,
                    signal: exit.signal.map(signal::name),
                    killed,
                    lost: None,
                },
                Err(lost) => BackgroundEnd { killed, lost: Some(lost), ..BackgroundEnd::default() },
            }
        })
    }
}

impl Reading {
    fn new(stream: Option<Arc<dyn Collected>>) -> Self {
        Self { stream, cursor: Mutex::default() }
    }

    fn read(&self, over: bool) -> Piece {
        let Some(stream) = &self.stream else { return Piece::default() };
        loop {
            let from = *self.cursor.lock();
            let delta = stream.read(from.offset());
            let (to, cut) = if over { from.finish(delta) } else { from.advance(delta) };
            if !self.moved(from, to) {
                continue;
            }
            let spill_path = match stream.spill() {
                Spill::File(path) if cut.is_truncated() => Some(path),
                _ => None,
            };
            return Piece { text: cut.head + &cut.tail, dropped: cut.dropped, spill_path };
        }
    }

    /// Moves on, unless another reader was faster.
    fn moved(&self, from: TextCursor, to: TextCursor) -> bool {
        let mut cursor = self.cursor.lock();
        let is_first = *cursor == from;
        if is_first {
            *cursor = to;
        }
        is_first
    }
}

impl Background for Unstarted {
    fn status(&self) -> BackgroundStatus {
        BackgroundStatus::Killed
    }

    fn read_output(&self) -> BackgroundOutput {
        let reason = self.reason.lock().take().unwrap_or_default();
        BackgroundOutput { text: joined(String::new(), &reason), ..BackgroundOutput::default() }
    }

    fn kill(&self) -> bool {
        false
    }

    fn done(&self) -> Pin<Box<dyn Future<Output = BackgroundEnd> + Send>> {
        Box::pin(ready(BackgroundEnd { killed: true, ..BackgroundEnd::default() }))
    }
}

/// The output, then the errors in a section of their own.
fn joined(mut text: String, errors: &str) -> String {
    if !errors.is_empty() {
        push_line(&mut text, "[stderr]\n");
        text.push_str(errors);
    }
    text
}
