//! Standard output, and whether somebody still reads it.

use std::io::{self, BufWriter, StdoutLock, Write};

/// Standard output, written in large pieces.
pub(crate) struct Out {
    to: BufWriter<StdoutLock<'static>>,
    unread: bool,
}

impl Out {
    pub(crate) fn new() -> Self {
        Self { to: BufWriter::new(io::stdout().lock()), unread: false }
    }

    /// Whether the reader went away.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread
    }

    fn noted<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.unread |= done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        done
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.to.write(bytes);
        self.noted(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.to.flush();
        self.noted(done)
    }
}
