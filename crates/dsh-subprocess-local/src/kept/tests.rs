#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, mpsc};

use dsh_subprocess::{Collect, Collected, Spill};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::process::{Child, Command};
use tokio::task::{JoinHandle, spawn_blocking, yield_now};

use super::{Kept, Limits, Reading};
use crate::config::Config;
use crate::table::Table;

/// Prints more than is kept, then, once it is told to, more than a pipe holds.
const IN_TWO: &str = "head -c 5000 /dev/zero; read -r _; head -c 1000000 /dev/zero; printf last";

/// A program whose output is read, and a thousand bytes of it kept.
struct Fixture {
    program: Child,
    kept: Arc<Kept>,
    limits: Limits,
    reading: JoinHandle<()>,
    table: Arc<Table>,
}

impl Fixture {
    fn start(script: &str) -> Self {
        let (table, limits) = (Arc::new(Table::new(&Config::default())), Limits::default());
        let mut command = Command::new("bash");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let stream = program.stdout.take().unwrap();
        let collect = Collect { spill_max_bytes: Some(1 << 30), ..Collect::both_ends(1_000) };
        let reading = Reading::new(collect, &table, "stdout".to_owned(), limits.clone());
        let kept = Arc::clone(&reading.kept);
        Self { program, kept, limits, reading: tokio::spawn(reading.read(stream)), table }
    }

    async fn file(&self) -> PathBuf {
        loop {
            if let Spill::File(path) = self.kept.spill() {
                return path;
            }
            yield_now().await;
        }
    }
}

/// Whoever has files written waits from now on, until the sender is dropped.
fn hold_files() -> mpsc::Sender<()> {
    let (sender, receiver) = mpsc::channel();
    spawn_blocking(move || receiver.recv());
    sender
}

/// A runtime that has one thread for files.
fn with_one_file_at_a_time(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(1).build().unwrap().block_on(test);
}

// spec: fs-shell-sandbox/F92
#[test]
fn a_file_that_takes_too_long_is_given_up_and_costs_nothing_of_what_is_kept() {
    with_one_file_at_a_time(async {
        let mut fixture = Fixture::start(IN_TWO);
        let path = fixture.file().await;
        let held = hold_files();
        drop(fixture.program.stdin.take());
        fixture.limits.no_file.cancel();
        fixture.reading.await.unwrap();
        assert_eq!(fixture.kept.spill(), Spill::Failed);
        let text = fixture.kept.text();
        assert_eq!(text.dropped + (text.head.len() + text.tail.len()) as u64, 1_005_004);
        assert!(text.tail.ends_with("last"));
        drop(held);
        // After what was to be written.
        spawn_blocking(move || assert!(!path.exists(), "half of it is none")).await.unwrap();
        drop(fixture.table);
    });
}

// spec: fs-shell-sandbox/F92
#[test]
fn whatever_ends_the_writing_of_a_file_before_it_is_whole_removes_it() {
    with_one_file_at_a_time(async {
        let fixture = Fixture::start(IN_TWO);
        let path = fixture.file().await;
        assert!(path.exists());
        fixture.reading.abort();
        assert!(fixture.reading.await.unwrap_err().is_cancelled());
        assert_eq!(fixture.kept.spill(), Spill::Failed);
        spawn_blocking(move || assert!(!path.exists(), "half of it is none")).await.unwrap();
        drop(fixture.table);
    });
}

// spec: fs-shell-sandbox/F92
#[tokio::test]
async fn what_a_process_has_written_is_read_however_late_the_runtime_gets_to_it() {
    let fixture = Fixture::start("head -c 60000 /dev/zero; printf last");
    let id = Pid::from_raw(fixture.program.id().unwrap().cast_signed()).unwrap();
    // Nothing of it is read meanwhile.
    waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    fixture.limits.enough.cancel();
    fixture.reading.await.unwrap();
    let text = fixture.kept.text();
    assert_eq!(text.dropped + (text.head.len() + text.tail.len()) as u64, 60_004);
    assert!(text.tail.ends_with("last"));
}
