//! Buffers that are filled, and a provider's side of a process that notes what it is told.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dsh_subprocess::{Collected, Control, Exit, OutputBuffer, Stream, WaitError};

/// How a stream comes: whole, and in pieces of several lengths.
pub(crate) const PIECES: [usize; 4] = [usize::MAX, 1, 3, 64];

/// A buffer that has got the bytes in pieces.
pub(crate) fn filled(head_bytes: usize, tail_bytes: usize, bytes: &[u8], piece: usize) -> OutputBuffer {
    let mut buffer = OutputBuffer::new(head_bytes, tail_bytes);
    bytes.chunks(piece.min(bytes.len().max(1))).for_each(|piece| buffer.push(piece));
    buffer
}

/// A process that has ended, whose streams are not collected, and that says of the first request alone that it told it.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) terminated: AtomicU32,
    pub(crate) killed: AtomicU32,
    pub(crate) let_go: AtomicU32,
}

impl Noted {
    pub(crate) fn counts(&self) -> [u32; 3] {
        [&self.terminated, &self.killed, &self.let_go].map(|count| count.load(Ordering::Relaxed))
    }
}

/// How [`Noted`] has ended.
pub(crate) const EXIT: Exit = Exit { code: Some(3), signal: None };

type Waited = Pin<Box<dyn Future<Output = Result<Exit, WaitError>> + Send>>;

impl Control for Noted {
    fn id(&self) -> u32 {
        42
    }

    fn terminate(&self) -> bool {
        self.terminated.fetch_add(1, Ordering::Relaxed) == 0
    }

    fn kill(&self) {
        self.killed.fetch_add(1, Ordering::Relaxed);
    }

    fn exited(&self) -> Waited {
        Box::pin(ready(Ok(EXIT)))
    }

    fn collected(&self) -> Waited {
        Box::pin(ready(Ok(EXIT)))
    }

    fn try_exited(&self) -> Option<Result<Exit, WaitError>> {
        Some(Ok(EXIT))
    }

    fn try_collected(&self) -> Option<Result<Exit, WaitError>> {
        None
    }

    fn output(&self, _stream: Stream) -> Option<Arc<dyn Collected>> {
        None
    }

    fn let_go(&self) {
        self.let_go.fetch_add(1, Ordering::Relaxed);
    }
}
