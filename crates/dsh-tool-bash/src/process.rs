//! Runs one command in a process group of its own.
//!
//! The only place of the crate that starts and signals processes; a process service will take its place.

mod group;

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{FusedFuture, join};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

use crate::capture::Capture;
use crate::decode::Decoder;

use group::Group;
pub(crate) use group::{Leftovers, signal_name};

/// How long the streams are still read after the command has ended, if something that it started holds them open.
const DRAIN: Duration = Duration::from_secs(1);

/// How much is read of a stream at once: what a pipe of Linux holds.
const PIECE_BYTES: usize = 64 * 1024;

/// What a command may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long it may run.
    pub(crate) timeout: Duration,
    /// How long it may take to end once it was told to.
    pub(crate) grace: Duration,
    /// How much of each stream is kept.
    pub(crate) max_output_bytes: usize,
}

/// Why a command was told to end, if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    TimedOut,
    Cancelled,
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `bash -c command` and waits for bash itself, not for what it left behind: that is handed to `leftovers`. At
/// the time limit or on cancellation the whole group is told to end, and killed if it does not. What it prints is told to
/// `live` as soon as it is read, both streams as they come, all of it.
///
/// # Errors
/// Fails if the process cannot be started.
///
/// # Cancel safety
/// Dropping the future kills the group.
pub(crate) async fn run(
    command: &str,
    workdir: &Path,
    limits: Limits,
    live: impl Fn(String),
    cancellation: &CancellationToken,
    leftovers: &Leftovers,
) -> io::Result<Finished> {
    let mut group = Group::spawn(command, workdir)?;
    let mut stdout = Capture::new(limits.max_output_bytes);
    let mut stderr = Capture::new(limits.max_output_bytes);
    let (out, err) = group.take_streams();
    let (status, stopped) = {
        let pump = join(pump(out, &mut stdout, &live), pump(err, &mut stderr, &live)).fuse();
        tokio::pin!(pump);
        let ended = {
            let end = end(&mut group, limits, cancellation);
            tokio::pin!(end);
            loop {
                tokio::select! {
                    ended = &mut end => break ended?,
                    _ = &mut pump => {}
                }
            }
        };
        if ended.1.is_some() {
            group.kill();
        }
        if !pump.is_terminated() {
            let _ = tokio::time::timeout(DRAIN, &mut pump).await;
        }
        ended
    };
    if stopped.is_none() {
        leftovers.keep(group);
    }
    Ok(Finished { status, stopped, stdout: stdout.into_text(), stderr: stderr.into_text() })
}

/// Waits until bash ends by itself or is made to.
async fn end(
    group: &mut Group,
    limits: Limits,
    cancellation: &CancellationToken,
) -> io::Result<(ExitStatus, Option<Stopped>)> {
    let stopped = tokio::select! {
        biased;
        status = group.wait() => return Ok((status?, None)),
        () = cancellation.cancelled() => Stopped::Cancelled,
        () = tokio::time::sleep(limits.timeout) => Stopped::TimedOut,
    };
    group.terminate();
    let status = match tokio::time::timeout(limits.grace, group.wait()).await {
        Ok(status) => status?,
        Err(_) => {
            group.kill();
            group.wait().await?
        }
    };
    Ok((status, Some(stopped)))
}

/// Reads a stream to its end. A read error ends it too: what was read so far is what there is.
async fn pump(stream: Option<impl AsyncRead + Unpin>, capture: &mut Capture, live: &impl Fn(String)) {
    let Some(mut stream) = stream else { return };
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; PIECE_BYTES];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        capture.push(&buffer[..read]);
        live(decoder.push(&buffer[..read]));
        // A stream that always has more would keep the thread, and time limits and cancellations waiting.
        tokio::task::yield_now().await;
    }
    live(decoder.finish());
}

#[cfg(test)]
mod tests;
