//! Running cargo, git and examples as child processes.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

const POLL: Duration = Duration::from_millis(5);

/// What a finished process left behind.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed, with invalid UTF-8 replaced.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// Cargo, to be run in `folder`.
pub fn cargo(folder: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    // Cargo tells its children which package it runs; a nested cargo and its build scripts must not see that.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs git in `folder` and returns what it printed.
///
/// # Errors
/// When git is missing or fails; the message holds its complaint.
pub fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .current_dir(folder)
        .args(args)
        .output()
        .context("cannot start git: install it")?;
    if !output.status.success() {
        bail!("`git {}` failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command to its end, and kills it when that takes longer than `limit`.
///
/// # Errors
/// When the command cannot be started or runs into the limit.
pub fn finish_within(command: &mut Command, limit: Duration) -> Result<Finished> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let Some(status) = wait(&mut child, limit)? else {
        child.kill().context("cannot kill a process that ran into its limit")?;
        child.wait().context("cannot wait for a killed process")?;
        bail!("was still running after {limit:?} and was killed");
    };
    Ok(Finished { status, stdout: join(stdout)?, stderr: join(stderr)? })
}

fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a process")? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

/// Reads a pipe on its own thread, so that a full pipe never blocks the process.
fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<std::io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    })
}

fn join(reader: thread::JoinHandle<std::io::Result<Vec<u8>>>) -> Result<String> {
    let Ok(bytes) = reader.join() else { bail!("the thread that read a process's output panicked") };
    Ok(String::from_utf8_lossy(&bytes.context("cannot read a process's output")?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_does_not_end_is_killed_at_its_limit() {
        let error = finish_within(Command::new("sleep").arg("60"), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("still running after 50ms"), "{error}");
    }
}
