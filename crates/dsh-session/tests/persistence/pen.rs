//! Writing to a log in memory, as well as the disk lets it.

use std::sync::Arc;

use dsh_session::{Event, StorageError, Writer};

use crate::memory::{Disk, Fault, broken};

/// Who has a log claimed, until this is dropped.
pub(crate) struct Pen {
    disk: Disk,
    id: String,
    spoilt: bool,
}

impl Pen {
    pub(crate) fn new(disk: &Disk, id: &str) -> Self {
        Self { disk: disk.clone(), id: id.to_owned(), spoilt: false }
    }

    /// Adds events, as well as the fault lets it.
    fn add(&mut self, fault: Fault, events: &[Arc<Event>], repair: bool) -> Result<(), StorageError> {
        if self.spoilt {
            return Err(StorageError::Poisoned { id: self.id.clone() });
        }
        let mut state = self.disk.state.lock();
        let revision = state.revise();
        let log = state.logs.get_mut(&self.id).unwrap();
        if fault == Fault::Fail {
            return Err(broken("append"));
        }
        if !events.is_empty() || (repair && log.torn.is_some()) {
            log.revision = revision;
        }
        if repair {
            log.torn = None;
        }
        assert!(log.torn.is_none(), "an append to a torn log");
        if let Some(first) = events.first() {
            assert_eq!(first.seq(), log.events.len() as u64, "a gap in the log of `{}`", self.id);
        }
        if fault == Fault::None {
            log.events.extend_from_slice(events);
            return Ok(());
        }
        log.events.extend_from_slice(&events[..events.len() / 2]);
        log.torn = Some("the write was cut".to_owned());
        self.spoilt = true;
        drop(state);
        assert!(fault != Fault::Panic, "the storage panics");
        Err(broken("append"))
    }
}

impl Writer for Pen {
    fn append(&mut self, events: &[Arc<Event>]) -> Result<(), StorageError> {
        let fault = self.disk.write(&self.id, format!("append {} {}", self.id, events.len()));
        self.add(fault, events, false)
    }

    fn repair(&mut self, closers: &[Arc<Event>]) -> Result<(), StorageError> {
        let fault = self.disk.write(&self.id, format!("repair {} {}", self.id, closers.len()));
        self.add(fault, closers, true)
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        if let Some(log) = self.disk.state.lock().logs.get_mut(&self.id) {
            log.holder = false;
        }
    }
}
