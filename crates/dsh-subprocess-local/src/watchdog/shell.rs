//! The shell of the watchdog, and what it is told.

use std::io::{self, PipeWriter, Write};
use std::process::{Command, Stdio};

use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::mark::Nonce;

const SCRIPT: &str = include_str!("../watchdog.sh");

/// How much a shell need not have read. One that has more to read does nothing any more, and is replaced.
pub(super) const MOST_UNREAD_BYTES: usize = 1 << 20;
/// A shell that runs.
pub(super) struct Shell {
    id: Pid,
    child: Box<dyn ChildWrapper>,
    /// None once it has been told all.
    lines: Option<PipeWriter>,
    /// What it could not be told yet.
    waiting: Vec<u8>,
}

impl Shell {
    pub(super) fn start(nonce: &Nonce) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "dsh-watchdog", &nonce.in_environment()]).current_dir("/");
        command.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        Self::run(command)
    }

    /// Starts what is a shell.
    pub(super) fn run(mut command: Command) -> io::Result<Self> {
        let (input, lines) = io::pipe()?;
        // One that does not read must not hold the host up.
        rustix::io::ioctl_fionbio(&lines, true)?;
        command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        // What is wrapped waits for the whole session.
        let child = CommandWrap::from(command).wrap(ProcessSession).spawn()?.into_inner();
        let id = Pid::from_raw(child.id().cast_signed()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { id, child, lines: Some(lines), waiting: Vec::new() })
    }

    /// Tells it now what it reads, and the rest with the next line.
    pub(super) fn tell(&mut self, line: &[u8]) {
        self.waiting.extend_from_slice(line);
        let Some(lines) = &mut self.lines else { return };
        while !self.waiting.is_empty() {
            match lines.write(&self.waiting) {
                Ok(told) => drop(self.waiting.drain(..told)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It is full, or the shell has ended.
                Err(_) => break,
            }
        }
        if self.waiting.len() > MOST_UNREAD_BYTES {
            self.kill();
        }
    }

    /// Closes its input. One that could not be told all would kill what is gone.
    pub(super) fn say_no_more(&mut self) {
        if !self.waiting.is_empty() {
            self.kill();
        }
        self.lines = None;
    }

    pub(super) fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// Whether nothing waits to be read.
    #[cfg(test)]
    pub(super) fn is_told_all(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn id(&self) -> Pid {
        self.id
    }

    /// Reaps one that has ended or was killed.
    pub(super) fn reap(mut self) {
        let _ = self.child.wait();
    }
}

/// Waits for the end of a child, which is not reaped. Whenever it is stopped it is made to go on.
pub(super) fn wait_for_end(child: Pid) {
    let either = WaitIdOptions::EXITED | WaitIdOptions::STOPPED;
    loop {
        match waitid(WaitId::Pid(child), either | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) if status.stopped() => {
                let _ = kill_process(child, Signal::CONT);
                // That it was stopped is not told of again.
                let _ = waitid(WaitId::Pid(child), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}
