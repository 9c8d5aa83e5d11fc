//! What is kept of a stream, and the task that reads it.
//!
//! **Lock order:** `buffer` is taken alone, `spill` alone or after the `room` of files. What watches the stream is called and
//! dropped without them.

use std::future::ready;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use dsh_subprocess::{Collect, Collected, Cut, Delta, OutputBuffer, Spill, Watch};
use parking_lot::Mutex;
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

use crate::spill::{Lost, SpillFile};
use crate::table::Table;

/// How much is read at once at first, which is enough for most programs.
const SHORT_PIECE_BYTES: usize = 8 * 1024;
/// How much is read at once of a program that prints much.
const PIECE_BYTES: usize = 64 * 1024;
/// How much the pipe of such a program is to hold. The system gives all processes of a user 64 MiB for pipes.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 * 1024;

/// What is kept of a stream.
pub(crate) struct Kept {
    buffer: Mutex<OutputBuffer>,
    spill: Mutex<Spill>,
}

/// What ends the reading of a stream that something holds open, or whose file takes its time.
#[derive(Clone, Default)]
pub(crate) struct Limits {
    /// What is in the pipe now is the last that is read.
    pub(crate) enough: CancellationToken,
    /// Nothing waits for the file any longer.
    pub(crate) no_file: CancellationToken,
}

/// A stream that is being read.
pub(crate) struct Reading {
    pub(crate) kept: Arc<Kept>,
    limits: Limits,
    fits: u64,
    watch: Option<Watch>,
    spilling: Spilling,
}

/// What becomes of a stream besides what is kept of it.
enum Spilling {
    /// Nothing.
    No,
    /// A file, once something is to be dropped.
    OnceDropped { table: Arc<Table>, name: String, max_bytes: u64 },
    /// This file.
    To(SpillFile),
}

impl Kept {
    /// Where all of the stream is from now on.
    pub(crate) fn tell(&self, spill: Spill) {
        *self.spill.lock() = spill;
    }

    fn lost(&self, lost: &Lost) {
        self.tell(match lost {
            Lost::TooLong => Spill::TooLong,
            Lost::NoRoom => Spill::NoRoom,
            Lost::Failed(error) => {
                tracing::warn!(%error, "long output is not kept in a file");
                Spill::Failed
            }
        });
    }
}

impl Collected for Kept {
    fn text(&self) -> Cut {
        self.buffer.lock().text()
    }

    fn read(&self, offset: u64) -> Delta {
        self.buffer.lock().read(offset)
    }

    fn spill(&self) -> Spill {
        self.spill.lock().clone()
    }
}

impl Reading {
    /// `name` is the file's, if one is needed.
    pub(crate) fn new(collect: Collect, table: &Arc<Table>, name: String, limits: Limits) -> Self {
        let Collect { head_bytes, tail_bytes, spill_max_bytes, watch } = collect;
        let buffer = Mutex::new(OutputBuffer::new(head_bytes, tail_bytes));
        let spilling = match spill_max_bytes {
            Some(max_bytes) => Spilling::OnceDropped { table: Arc::clone(table), name, max_bytes },
            None => Spilling::No,
        };
        Self {
            kept: Arc::new(Kept { buffer, spill: Mutex::new(Spill::None) }),
            limits,
            fits: (head_bytes as u64).saturating_add(tail_bytes as u64),
            watch,
            spilling,
        }
    }

    /// Reads to the end of the stream, or until it is enough. A read error is the end too: what was read so far is what there
    /// is.
    pub(crate) async fn read(mut self, mut stream: impl AsyncRead + AsFd + Unpin) {
        let enough = self.limits.enough.clone();
        let mut piece = vec![0; SHORT_PIECE_BYTES];
        let is_held = loop {
            let read = tokio::select! {
                biased;
                () = enough.cancelled() => break true,
                read = stream.read(&mut piece) => read,
                // Nothing to read right now: whoever looks into the file finds all that there was.
                () = ready(()), if self.holds_back() => {
                    self.hand_over().await;
                    continue;
                }
            };
            let Ok(read @ 1..) = read else { break false };
            self.take(&piece[..read]).await;
            if read == piece.len() {
                if piece.len() < PIECE_BYTES {
                    widen(&stream);
                }
                piece.resize(PIECE_BYTES, 0);
            }
            // A stream that always has more would keep the thread from others.
            tokio::task::yield_now().await;
        };
        if is_held {
            self.read_rest(&stream, &mut piece).await;
        }
        drop(stream);
        self.finish().await;
    }

    /// Reads what is in the pipe, no more than fits in it: what a process wrote that has ended is among that, however late the
    /// runtime gets to it. The runtime is not asked: it may not have heard of it.
    async fn read_rest(&mut self, stream: &impl AsFd, piece: &mut [u8]) {
        let mut left = capacity(stream);
        while left > 0 {
            let most = left.min(piece.len());
            match rustix::io::read(stream, &mut piece[..most]) {
                Ok(read @ 1..) => {
                    self.take(&piece[..read]).await;
                    left -= read;
                }
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
            tokio::task::yield_now().await;
        }
    }

    async fn take(&mut self, piece: &[u8]) {
        let before = {
            let mut buffer = self.kept.buffer.lock();
            let waits = matches!(self.spilling, Spilling::OnceDropped { .. });
            let before = (waits && buffer.total() + piece.len() as u64 > self.fits).then(|| buffer.read(0));
            buffer.push(piece);
            before
        };
        self.tell(piece);
        if let Some(before) = before {
            self.begin_file().await;
            self.spill(&before.head).await;
            self.spill(&before.tail).await;
        }
        self.spill(piece).await;
    }

    /// One who panics is not told any more.
    fn tell(&mut self, piece: &[u8]) {
        let Some(watch) = &mut self.watch else { return };
        if catch_unwind(AssertUnwindSafe(|| watch(piece))).is_err() {
            tracing::error!("what watches the output of a process has panicked, and is told nothing more");
            let watch = self.watch.take();
            let _ = catch_unwind(AssertUnwindSafe(|| drop(watch)));
        }
    }

    async fn begin_file(&mut self) {
        let Spilling::OnceDropped { table, name, max_bytes } =
            std::mem::replace(&mut self.spilling, Spilling::No)
        else {
            return;
        };
        let created = table.spills.create(name, max_bytes, &self.kept);
        match in_time(&self.limits.no_file, created).await {
            Ok(file) => {
                self.kept.tell(Spill::File(file.path().to_owned()));
                self.spilling = Spilling::To(file);
            }
            Err(lost) => self.kept.lost(&lost),
        }
    }

    async fn spill(&mut self, bytes: &[u8]) {
        if let Spilling::To(file) = &mut self.spilling
            && let Err(lost) = in_time(&self.limits.no_file, file.write(bytes)).await
        {
            self.give_up(&lost).await;
        }
    }

    fn holds_back(&self) -> bool {
        matches!(&self.spilling, Spilling::To(file) if file.holds_back())
    }

    async fn hand_over(&mut self) {
        if let Spilling::To(file) = &mut self.spilling
            && let Err(lost) = in_time(&self.limits.no_file, file.hand_over()).await
        {
            self.give_up(&lost).await;
        }
    }

    async fn finish(&mut self) {
        if let Spilling::To(file) = &mut self.spilling
            && let Err(lost) = in_time(&self.limits.no_file, file.finish()).await
        {
            self.give_up(&lost).await;
        }
    }

    /// There is no file any more: half of it is none.
    async fn give_up(&mut self, lost: &Lost) {
        self.kept.lost(lost);
        if let Spilling::To(file) = std::mem::replace(&mut self.spilling, Spilling::No) {
            let discarded = async {
                file.discard().await;
                Ok(())
            };
            let _ = in_time(&self.limits.no_file, discarded).await;
        }
    }
}

/// What comes of the file, unless nothing waits for it any longer.
async fn in_time<T>(
    no_file: &CancellationToken,
    done: impl Future<Output = Result<T, Lost>>,
) -> Result<T, Lost> {
    tokio::select! {
        biased;
        done = done => done,
        () = no_file.cancelled() => Err(Lost::Failed(io::ErrorKind::TimedOut.into())),
    }
}

/// How much fits in a pipe.
#[cfg(target_os = "linux")]
fn capacity(pipe: &impl AsFd) -> usize {
    rustix::pipe::fcntl_getpipe_size(pipe).unwrap_or(PIPE_BYTES)
}

#[cfg(not(target_os = "linux"))]
fn capacity(_pipe: &impl AsFd) -> usize {
    PIECE_BYTES
}

/// Lets a pipe hold more, so that its two ends wait less for each other. Refused it is as good as before.
#[cfg(target_os = "linux")]
fn widen(pipe: &impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn widen(_pipe: &impl AsFd) {}

#[cfg(test)]
mod tests;
