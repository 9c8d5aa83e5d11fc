//! Two processes, and processes that are killed.
//!
//! The other process is this test program again, running `other_process`. Many more rounds:
//! `CRASH_ROUNDS=1000 cargo test -p dsh-session-jsonl --test processes`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]
#![cfg(unix)]

mod support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dsh_session::{Opened, Storage as _, StorageError};
use dsh_session_jsonl::Compression;
use support::{BOTH, header, notes, store};

/// How many events one log gets at most.
const EVENTS: usize = 600;

struct Other {
    child: Child,
    said: BufReader<ChildStderr>,
}

/// A child has copies of all descriptors until it runs its own program, also of a lock that another test has just let go of: who
/// starts one waits until all others run.
static STARTING: Mutex<()> = Mutex::new(());

impl Other {
    fn start(root: &Path, compression: Compression, work: &str) -> Self {
        let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "other_process", "--ignored", "--nocapture"])
            .env("OTHER_PROCESS_ROOT", root)
            .env("OTHER_PROCESS_COMPRESSION", format!("{compression:?}"))
            .env("OTHER_PROCESS_WORK", work)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// The next line; none if the process has ended.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.said.read_line(&mut line).unwrap();
        (length > 0 && line.ends_with('\n')).then(|| line.trim().to_owned())
    }

    fn kill(&mut self) {
        // SIGKILL: nothing of it runs any more.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test: what the other process does.
#[test]
#[ignore = "run by the other tests"]
fn other_process() {
    let Ok(work) = std::env::var("OTHER_PROCESS_WORK") else { return };
    let root = std::env::var_os("OTHER_PROCESS_ROOT").unwrap();
    let compressed = std::env::var("OTHER_PROCESS_COMPRESSION").unwrap() == "Zstd";
    let store = store(root.as_ref(), if compressed { Compression::Zstd } else { Compression::None });
    let say = |line: &str| std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
    match &*work {
        "hold" => {
            let opened = store.open("t");
            say(if opened.is_ok() { "held" } else { "busy" });
            // Until the other end is closed, or this is killed.
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        "append" => {
            let all = notes(EVENTS);
            let (mut done, mut writer) = match store.open("t").unwrap() {
                Some(Opened { stored, mut writer }) => {
                    assert_eq!(stored.events.to_vec(), all[..stored.events.len()]);
                    writer.repair(&[]).unwrap();
                    (stored.events.len(), writer)
                }
                None => (1, store.create(&header(), &all[..1]).unwrap()),
            };
            say(&format!("acknowledged {done}"));
            while done < EVENTS {
                let end = (done + 1 + done % 7).min(EVENTS);
                writer.append(&all[done..end]).unwrap();
                done = end;
                say(&format!("acknowledged {done}"));
            }
        }
        other => panic!("{other}"),
    }
}

// spec: session/S101, cases/G2, design/P8
#[test]
fn a_session_that_another_process_writes_to_is_busy_and_free_when_that_is_killed() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path(), compression);
        drop(store.create(&header(), &notes(1)).unwrap());
        let mut other = Other::start(root.path(), compression, "hold");
        assert_eq!(other.line().unwrap(), "held");
        let Some(StorageError::Busy { id, holder }) = store.open("t").err() else { panic!("two writers") };
        assert_eq!((&*id, holder), ("t", format!("process {}", other.child.id())));
        assert_eq!(store.read("t").unwrap().unwrap().events.len(), 1, "readers are not kept out");
        other.kill();
        assert!(store.open("t").unwrap().is_some());
    }
}

// spec: session/S101, cases/G2, design/P8
#[test]
fn a_session_that_this_process_writes_to_is_busy_to_another_one() {
    let root = tempfile::tempdir().unwrap();
    let writer = store(root.path(), Compression::Zstd).create(&header(), &notes(1)).unwrap();
    assert_eq!(Other::start(root.path(), Compression::Zstd, "hold").line().unwrap(), "busy");
    drop(writer);
    assert_eq!(Other::start(root.path(), Compression::Zstd, "hold").line().unwrap(), "held");
}

/// Numbers that look random, and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Lets another process write, kills it at some point, and gives how many events it had acknowledged.
fn killed_while_writing(root: &Path, compression: Compression, dice: &mut Dice) -> usize {
    let mut other = Other::start(root, compression, "append");
    let mut acknowledged = 0;
    let mut note = |line: Option<String>| {
        let count =
            line.as_deref().map(|line| line.strip_prefix("acknowledged ").expect(line).parse().unwrap());
        if let Some(count) = count {
            acknowledged = count;
        }
        count.is_some()
    };
    for _ in 0..dice.roll(12) {
        if !note(other.line()) {
            break;
        }
    }
    // Too short for a timer: what is hit is the middle of a write.
    let (start, wait) = (Instant::now(), Duration::from_micros(dice.roll(1500)));
    while start.elapsed() < wait {
        std::hint::spin_loop();
    }
    other.kill();
    while note(other.line()) {}
    acknowledged
}

// spec: design/P8
#[test]
fn no_acknowledged_event_is_lost_when_the_writer_is_killed() {
    let rounds = std::env::var("CRASH_ROUNDS").map_or(40, |rounds| rounds.parse().unwrap());
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let all = notes(EVENTS);
    let mut logs: Vec<_> = BOTH.map(|compression| (compression, tempfile::tempdir().unwrap(), 0)).into();
    for round in 0..rounds {
        let (compression, root, least) = &mut logs[round % 2];
        let acknowledged = killed_while_writing(root.path(), *compression, &mut dice);
        *least = acknowledged.max(*least);

        let store = store(root.path(), *compression);
        let read = store.read("t").unwrap().map(|stored| stored.events.to_vec()).unwrap_or_default();
        assert!(read.len() >= *least, "round {round}: {} events left of {least}", read.len());
        assert_eq!(read, all[..read.len()], "round {round}");
        if let Some(Opened { stored, mut writer }) = store.open("t").unwrap() {
            assert_eq!(stored.events.to_vec(), read);
            writer.repair(&[]).unwrap();
            assert_eq!(store.read("t").unwrap().unwrap().torn, None);
            *least = read.len();
        }
        if *least == EVENTS {
            (*root, *least) = (tempfile::tempdir().unwrap(), 0);
        }
    }
}
