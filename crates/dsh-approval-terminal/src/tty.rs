//! A terminal of the system.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::retry_on_intr;
use rustix::termios::{QueueSelector, tcdrain, tcflush};

use crate::input::Input;

/// A terminal that is open to read.
pub(crate) struct Tty(File);

/// A terminal that is open to write.
pub(crate) struct TtyOutput(File);

/// Opens a terminal, once to read and once to write.
pub(crate) fn open(path: &Path) -> io::Result<(Tty, TtyOutput)> {
    // Never becomes the terminal that controls the process, and is not left to programs that it starts.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.is_terminal() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "it is not a terminal"));
    }
    let screen = file.try_clone()?;
    Ok((Tty(file), TtyOutput(screen)))
}

impl AsFd for Tty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Input for Tty {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    fn discard(&mut self) -> io::Result<()> {
        Ok(tcflush(&self.0, QueueSelector::IFlush)?)
    }
}

impl Write for TtyOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    /// Waits until a slow line has sent it all.
    fn flush(&mut self) -> io::Result<()> {
        Ok(retry_on_intr(|| tcdrain(&self.0))?)
    }
}
