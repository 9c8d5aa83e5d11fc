//! A storage in memory that can fail, hang and panic on demand, and tells what was called.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dsh_session::{
    Event, Listed, Location, Opened, RawLog, SessionHeader, Storage, StorageError, Stored, Writer,
};
use parking_lot::{Condvar, Mutex};

use crate::pen::Pen;

/// What outlives a plugin and a process: the logs, and who has them claimed.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) state: Arc<Mutex<State>>,
    changed: Arc<Condvar>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) logs: BTreeMap<String, Log>,
    calls: Vec<String>,
    faults: VecDeque<Fault>,
    open_faults: usize,
    /// Writes of this id wait; of all ids if it is empty.
    held: Option<String>,
    waiting: usize,
    closed: bool,
    revisions: u64,
}

#[derive(Clone)]
pub(crate) struct Log {
    header: SessionHeader,
    pub(crate) events: Vec<Arc<Event>>,
    pub(crate) torn: Option<String>,
    pub(crate) revision: u64,
    pub(crate) holder: bool,
}

/// How a write goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does not.
    None,
    /// Nothing is stored.
    Fail,
    /// Half of it is stored, the log ends torn, and the writer is spoilt.
    Spoil,
    /// Half of it is stored, and the call panics.
    Panic,
}

/// Lets the held writes go on when it is dropped.
pub(crate) struct Hold(Disk);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.state.lock().held = None;
        self.0.changed.notify_all();
    }
}

impl Disk {
    /// The next writes go wrong like this, one each.
    pub(crate) fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.lock().faults.extend(faults);
    }

    pub(crate) fn fail_opens(&self, times: usize) {
        self.state.lock().open_faults = times;
    }

    /// Writes wait until the result is dropped; of one session, or of all for the empty id.
    pub(crate) fn hold(&self, id: &str) -> Hold {
        self.state.lock().held = Some(id.to_owned());
        Hold(self.clone())
    }

    /// How many writes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// The calls since the last look, without those that only look at a revision.
    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().calls)
    }

    /// How many calls there were since they were last taken.
    pub(crate) fn called(&self) -> usize {
        self.state.lock().calls.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    pub(crate) fn events(&self, id: &str) -> Vec<Arc<Event>> {
        self.state.lock().logs.get(id).map(|log| log.events.clone()).unwrap_or_default()
    }

    pub(crate) fn kinds(&self, id: &str) -> Vec<String> {
        self.events(id).iter().map(|event| event.kind().to_owned()).collect()
    }

    pub(crate) fn header(&self, id: &str) -> Option<SessionHeader> {
        self.state.lock().logs.get(id).map(|log| log.header.clone())
    }

    pub(crate) fn is_torn(&self, id: &str) -> bool {
        self.state.lock().logs.get(id).is_some_and(|log| log.torn.is_some())
    }

    /// How many logs are claimed.
    pub(crate) fn claims(&self) -> usize {
        self.state.lock().logs.values().filter(|log| log.holder).count()
    }

    /// Claims a log as another process does.
    pub(crate) fn claim(&self, id: &str, claimed: bool) {
        self.state.lock().logs.get_mut(id).unwrap().holder = claimed;
    }

    /// Stores a log as a crash left it.
    pub(crate) fn put(&self, header: SessionHeader, events: Vec<Arc<Event>>, torn: Option<&str>) {
        self.put_as(&header.id.clone(), header, events, torn);
    }

    /// Stores a log under another id than its header's.
    pub(crate) fn put_as(
        &self,
        id: &str,
        header: SessionHeader,
        events: Vec<Arc<Event>>,
        torn: Option<&str>,
    ) {
        let mut state = self.state.lock();
        let revision = state.revise();
        let log = Log { header, events, torn: torn.map(str::to_owned), revision, holder: false };
        state.logs.insert(id.to_owned(), log);
    }

    /// Waits as long as writes of this id are held, and notes the call.
    pub(crate) fn write(&self, id: &str, call: String) -> Fault {
        let mut state = self.state.lock();
        state.called(call);
        state.waiting += 1;
        while state.held.as_deref().is_some_and(|held| held.is_empty() || held == id) {
            self.changed.wait(&mut state);
        }
        state.waiting -= 1;
        state.faults.pop_front().unwrap_or(Fault::None)
    }
}

impl State {
    fn called(&mut self, call: String) {
        assert!(!self.closed, "`{call}` after the storage was closed");
        self.calls.push(call);
    }

    pub(crate) fn revise(&mut self) -> u64 {
        self.revisions += 1;
        self.revisions
    }
}

/// One opening of the disk, as a plugin makes it.
pub(crate) struct Memory(Disk);

impl Memory {
    pub(crate) fn open(disk: &Disk) -> Self {
        disk.state.lock().closed = false;
        Self(disk.clone())
    }
}

pub(crate) fn broken(what: &str) -> StorageError {
    StorageError::io(what, "the disk is on fire")
}

fn stored(log: &Log) -> Stored {
    Stored {
        header: log.header.clone(),
        events: log.events.iter().cloned().collect(),
        torn: log.torn.clone(),
        revision: format!("memory:{}", log.revision),
    }
}

impl Storage for Memory {
    fn locate(&self, header: &SessionHeader) -> Option<Location> {
        header.cwd.is_none().then(|| Location::Jsonl { path: format!("/memory/{}", header.id).into() })
    }

    fn create(&self, header: &SessionHeader, first: &[Arc<Event>]) -> Result<Box<dyn Writer>, StorageError> {
        let id = header.id.clone();
        let fault = self.0.write(&id, format!("create {id} {}", first.len()));
        if fault == Fault::Fail {
            return Err(broken("create"));
        }
        let mut state = self.0.state.lock();
        if state.logs.contains_key(&id) {
            return Err(StorageError::Exists { id });
        }
        let revision = state.revise();
        let (header, events) = (header.clone(), first.to_vec());
        state.logs.insert(id.clone(), Log { header, events, torn: None, revision, holder: true });
        drop(state);
        let writer = Box::new(Pen::new(&self.0, &id));
        assert!(fault != Fault::Panic, "the storage panics");
        Ok(writer)
    }

    fn open(&self, id: &str) -> Result<Option<Opened>, StorageError> {
        let mut state = self.0.state.lock();
        state.called(format!("open {id}"));
        if state.open_faults > 0 {
            state.open_faults -= 1;
            return Err(broken("open"));
        }
        let Some(log) = state.logs.get_mut(id) else { return Ok(None) };
        if log.holder {
            return Err(StorageError::Busy { id: id.to_owned(), holder: "another".to_owned() });
        }
        log.holder = true;
        let stored = stored(log);
        drop(state);
        let writer = Pen::new(&self.0, id);
        Ok(Some(Opened { stored, writer: Box::new(writer) }))
    }

    fn read(&self, id: &str) -> Result<Option<Stored>, StorageError> {
        let mut state = self.0.state.lock();
        state.called(format!("read {id}"));
        Ok(state.logs.get(id).map(stored))
    }

    fn list(&self) -> Result<Vec<Listed>, StorageError> {
        let mut state = self.0.state.lock();
        state.called("list".to_owned());
        let listed = |log: &Log| Listed { header: log.header.clone(), revision: stored(log).revision };
        Ok(state.logs.values().map(listed).collect())
    }

    fn revision(&self, id: &str) -> Result<Option<String>, StorageError> {
        let state = self.0.state.lock();
        assert!(!state.closed, "`revision` after the storage was closed");
        Ok(state.logs.get(id).map(|log| stored(log).revision))
    }

    fn has_raw(&self) -> bool {
        true
    }

    fn read_raw(&self, id: &str) -> Result<Option<RawLog>, StorageError> {
        let raw = |stored: Stored| RawLog {
            header: stored.header,
            filename: "log.txt".to_owned(),
            content: stored.events.iter().map(|event| format!("{}\n", event.kind())).collect(),
        };
        Ok(self.read(id)?.map(raw))
    }

    fn close(&self) -> Result<(), StorageError> {
        let mut state = self.0.state.lock();
        state.called("close".to_owned());
        state.closed = true;
        Ok(())
    }
}
