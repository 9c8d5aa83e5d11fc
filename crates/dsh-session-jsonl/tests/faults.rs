//! A disk that is full, broken or switched off: what was acknowledged is there, what was refused is not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::path::Path;
use std::sync::Arc;

use dsh_session::{Event, Opened, Storage as _, StorageError, Writer};
use dsh_session_jsonl::{Compression, JsonlStorage};
use proptest::prelude::*;
use support::faulty::{Fault, FaultyDisk};
use support::{BOTH, config, header, log_path, notes, quick};

fn faulty(root: &Path, compression: Compression, disk: &FaultyDisk) -> JsonlStorage {
    JsonlStorage::open_on(config(root, compression), Arc::new(disk.clone())).unwrap()
}

// spec: session/S95
#[test]
fn an_append_that_fails_anywhere_is_as_if_it_had_not_been_and_can_be_made_again() {
    for compression in BOTH {
        for fault in [Fault::Nothing, Fault::Half, Fault::Done] {
            // 0 is the write, 1 the sync.
            for call in 0..2 {
                let (root, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
                let all = notes(6);
                let mut writer =
                    faulty(root.path(), compression, &disk).create(&header(), &all[..2]).unwrap();
                let before = std::fs::read(log_path(root.path(), compression)).unwrap();
                disk.fail(call, 1, fault);
                assert!(
                    matches!(writer.append(&all[2..4]), Err(StorageError::Io { .. })),
                    "{fault:?} of call {call}"
                );
                assert_eq!(std::fs::read(log_path(root.path(), compression)).unwrap(), before);
                writer.append(&all[2..]).unwrap();
                let stored = quick(root.path(), compression).read("t").unwrap().unwrap();
                assert_eq!(stored.events.to_vec(), all);
            }
        }
    }
}

// spec: session/S95
#[test]
fn a_writer_that_cannot_undo_its_failure_tells_both_and_writes_no_more() {
    for compression in BOTH {
        for (call, length) in [(0, 2), (1, 2), (0, 9)] {
            let (root, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
            let all = notes(3);
            let store = faulty(root.path(), compression, &disk);
            let mut writer = store.create(&header(), &all[..1]).unwrap();
            disk.fail(call, length, Fault::Half);
            let error = support::message(&writer.append(&all[1..]).unwrap_err());
            assert!(error.contains("undo"), "{error}");
            disk.heal();
            assert!(matches!(writer.append(&all[1..]), Err(StorageError::Poisoned { .. })));
            assert!(matches!(writer.repair(&all[1..]), Err(StorageError::Poisoned { .. })));
            drop(writer);
            let Opened { stored, mut writer } = store.open("t").unwrap().unwrap();
            assert_eq!(stored.events.to_vec()[..1], all[..1]);
            writer.repair(&[]).unwrap();
            writer.append(&all[stored.events.len()..]).unwrap();
        }
    }
}

// spec: session/S95
#[test]
fn a_log_whose_making_fails_anywhere_is_not_there_and_can_be_made_again() {
    for compression in BOTH {
        for fault in [Fault::Nothing, Fault::Half, Fault::Done] {
            let mut call = 0;
            loop {
                let (root, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
                let root = root.path().join("root");
                let store = faulty(&root, compression, &disk);
                disk.fail(call, 1, fault);
                let made = store.create(&header(), &notes(2));
                disk.heal();
                match made {
                    // The removals of the temporary name are best effort, so their failure goes by.
                    Ok(_) => assert_eq!(store.read("t").unwrap().unwrap().events.len(), 2),
                    Err(StorageError::Exists { .. }) if fault == Fault::Done => {}
                    Err(_) => {
                        assert!(store.read("t").unwrap().is_none(), "{fault:?} of call {call}");
                        store.create(&header(), &notes(3)).unwrap();
                        assert_eq!(store.read("t").unwrap().unwrap().events.len(), 3);
                    }
                }
                call += 1;
                if call == 20 {
                    break;
                }
            }
        }
    }
}

// spec: session/S95, S97
#[test]
fn a_repair_that_fails_anywhere_changes_nothing_and_can_be_made_again() {
    for compression in BOTH {
        for fault in [Fault::Nothing, Fault::Half] {
            for call in 0..5 {
                let (root, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
                let all = notes(4);
                let store = faulty(root.path(), compression, &disk);
                let mut writer = store.create(&header(), &all[..1]).unwrap();
                writer.append(&all[1..3]).unwrap();
                drop(writer);
                let path = log_path(root.path(), compression);
                let mut torn = std::fs::read(&path).unwrap();
                torn.truncate(torn.len() - 2);
                std::fs::write(&path, &torn).unwrap();

                let Opened { stored, mut writer } = store.open("t").unwrap().unwrap();
                disk.fail(call, 1, fault);
                let repaired = writer.repair(&[]);
                disk.heal();
                if repaired.is_err() {
                    let now = quick(root.path(), compression).read("t").unwrap().unwrap();
                    assert_eq!(now.events, stored.events, "{fault:?} of call {call}");
                    if !matches!(writer.repair(&[]), Err(StorageError::Poisoned { .. })) {
                        writer.append(&all[stored.events.len()..]).unwrap();
                    }
                } else {
                    writer.append(&all[stored.events.len()..]).unwrap();
                }
                let now = quick(root.path(), compression).read("t").unwrap().unwrap();
                assert!(now.events.len() >= stored.events.len());
                assert_eq!(now.events.to_vec(), all[..now.events.len()]);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Append { events: usize },
    Fail { calls: usize, length: usize, fault: Fault },
    Reopen,
    Restart { share: u8 },
}

fn op() -> impl Strategy<Value = Op> {
    let fault =
        prop_oneof![Just(Fault::Nothing), Just(Fault::Half), Just(Fault::Done), Just(Fault::PowerOff)];
    prop_oneof![
        4 => (1..6usize).prop_map(|events| Op::Append { events }),
        3 => (0..8usize, 1..4usize, fault).prop_map(|(calls, length, fault)| Op::Fail { calls, length, fault }),
        1 => Just(Op::Reopen),
        1 => any::<u8>().prop_map(|share| Op::Restart { share }),
    ]
}

/// A session on a faulty disk, and what is known of it.
struct Run {
    root: tempfile::TempDir,
    compression: Compression,
    disk: FaultyDisk,
    all: Vec<Arc<Event>>,
    writer: Option<Box<dyn Writer>>,
    /// So many events are there for certain.
    acknowledged: usize,
    /// So many may be there: those of a batch of which nothing is known.
    possible: usize,
}

impl Run {
    fn new(compression: Compression) -> Self {
        let (root, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
        Self { root, compression, disk, all: notes(300), writer: None, acknowledged: 0, possible: 0 }
    }

    fn store(&self) -> JsonlStorage {
        faulty(self.root.path(), self.compression, &self.disk)
    }

    /// What anybody would read now.
    fn look(&self) -> usize {
        let stored = quick(self.root.path(), self.compression).read("t").unwrap();
        let events = stored.map(|stored| stored.events.to_vec()).unwrap_or_default();
        assert_eq!(events, self.all[..events.len()], "what is read is what was sent");
        assert!(events.len() >= self.acknowledged, "{} of {} left", events.len(), self.acknowledged);
        assert!(events.len() <= self.possible, "{} are there, {} were sent", events.len(), self.possible);
        events.len()
    }

    fn append(&mut self, count: usize) {
        if self.writer.is_none() && !self.open(count) {
            return;
        }
        let Some(writer) = &mut self.writer else { return };
        let batch = &self.all[self.acknowledged..self.acknowledged + count];
        let sent = self.acknowledged + count;
        match writer.append(batch) {
            Ok(()) => (self.acknowledged, self.possible) = (sent, sent),
            Err(StorageError::Poisoned { .. }) => self.writer = None,
            Err(_) => self.possible = self.possible.max(sent),
        }
        self.look();
    }

    /// Takes the session, or makes it; whether there is a writer that has all that is stored.
    fn open(&mut self, count: usize) -> bool {
        let store = self.store();
        match store.open("t") {
            Ok(Some(Opened { stored, mut writer })) => {
                assert_eq!(stored.events.len(), self.look());
                if writer.repair(&[]).is_err() {
                    return false;
                }
                (self.acknowledged, self.possible) = (stored.events.len(), stored.events.len());
                assert_eq!(quick(self.root.path(), self.compression).read("t").unwrap().unwrap().torn, None);
                self.writer = Some(writer);
                true
            }
            Ok(None) => {
                assert_eq!(self.acknowledged, 0, "the whole session is gone");
                self.possible = self.possible.max(count);
                if let Ok(writer) = store.create(&header(), &self.all[..count]) {
                    (self.acknowledged, self.possible) = (count, count);
                    self.writer = Some(writer);
                }
                self.look();
                false
            }
            // It could not be forced onto the disk, so it was not taken.
            Err(StorageError::Io { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn restart(&mut self, share: u8) {
        self.writer = None;
        self.disk.restart(share);
        self.disk.forget(&log_path(self.root.path(), self.compression), share);
        self.look();
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Append { events } => self.append(events),
            Op::Fail { calls, length, fault } => self.disk.fail(calls, length, fault),
            Op::Reopen => self.writer = None,
            Op::Restart { share } => self.restart(share),
        }
        if self.disk.is_off() {
            self.restart(100);
        }
    }
}

proptest! {
    // spec: session/S95, S96, S97, design/P8
    #[test]
    fn what_was_acknowledged_survives_faults_and_power_failures(
        compressed in any::<bool>(),
        ops in prop::collection::vec(op(), 1..40),
    ) {
        let mut run = Run::new(if compressed { Compression::Zstd } else { Compression::None });
        for op in ops {
            run.step(op);
        }
        run.disk.heal();
        run.writer = None;
        run.append(1);
        run.append(1);
        run.append(1);
        prop_assert_eq!(run.look(), run.acknowledged);
    }
}

// spec: design/P8
#[test]
fn a_writer_that_failed_and_was_undone_shows_nothing_of_the_batch_after_a_power_failure() {
    for compression in BOTH {
        for share in [0, 200] {
            let mut run = Run::new(compression);
            run.append(3);
            run.append(3);
            run.disk.fail(1, 1, Fault::Nothing);
            run.append(2);
            assert_eq!(run.look(), 6);
            run.restart(share);
            assert_eq!(run.look(), 6);
        }
    }
}
