//! The terminals of the system that are open: one of each, whoever opens it and under whatever name.
//!
//! Two threads that read one terminal would each be given lines that were meant for the other.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::fs::{Dev, fstat};
use rustix::process::Pid;
use rustix::termios::tcgetsid;

use crate::terminal::Terminal;
use crate::tty;

/// What tells one terminal from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    /// The one that controls this session, which has two names: its own and `/dev/tty`.
    Controlling(Pid),
    Other(Dev),
}

static OPEN: Mutex<Vec<(Device, Weak<Terminal>)>> = Mutex::new(Vec::new());

/// The terminal of this path, opened unless it is open already.
pub(crate) fn open(path: &Path) -> io::Result<Arc<Terminal>> {
    let (input, output) = tty::open(path)?;
    let device = Device::of(&input)?;
    let mut open = OPEN.lock();
    open.retain(|(_, terminal)| terminal.strong_count() > 0);
    let found = open.iter().find(|(other, _)| *other == device);
    if let Some(terminal) = found.and_then(|(_, terminal)| terminal.upgrade()) {
        return Ok(terminal);
    }
    let terminal = Arc::new(Terminal::new(input, output)?);
    open.push((device, Arc::downgrade(&terminal)));
    Ok(terminal)
}

impl Device {
    fn of(terminal: impl AsFd) -> io::Result<Self> {
        // A terminal tells its session to a process of that session alone.
        match tcgetsid(&terminal) {
            Ok(session) => Ok(Self::Controlling(session)),
            Err(_) => Ok(Self::Other(fstat(&terminal)?.st_rdev)),
        }
    }
}
