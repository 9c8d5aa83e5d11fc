//! The service: the states of all units for all live sessions.
//!
//! **Invariants**
//! 1. A cell holds a prefix of its session's log, and a cell that holds more takes the place of one that holds less.
//! 2. A session that is not live and a unit that was released have no cells.
//!
//! **Lock order** the table's shard → a session's cells. Neither is held while a unit's code runs, or a state is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use cordis::{Context, Effect, Handle};
use dashmap::DashMap;
use dsh_session::{Event, Session, SessionEvent, SessionStore};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cell::{Cell, last_seq};
use crate::keys::CHANGED;
use crate::registry::{RegisterError, Registered, Registry};
use crate::rows::{self, RestoreError, Restored, Row, Rows};
use crate::unit::{Unit, UnitError};

/// What is derived from the logs of sessions.
pub struct Projections {
    ctx: Context,
    sessions: Handle<SessionStore>,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    registry: Registry,
    live: DashMap<String, Arc<Projected>>,
}

/// The cells of one session, by the numbers of their units.
struct Projected {
    session: Weak<Session>,
    cells: Mutex<HashMap<u64, Slot>>,
}

#[derive(Clone)]
enum Slot {
    Folded(Cell),
    /// The unit failed at an event: it has no state for this session any more.
    Failed,
}

/// What clients see of a session at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The last event that is in it; -1 before the first one.
    pub as_of_seq: i64,
    /// What each unit shows, by its key, in the order of registration. Units that show nothing are left out.
    pub values: Map<String, Value>,
}

/// What clients see of a unit's state has changed; see [`CHANGED`](crate::CHANGED).
#[derive(Clone, Debug)]
pub struct Changed {
    /// The session.
    pub session: Arc<Session>,
    /// The unit's key.
    pub key: &'static str,
    /// The event that changed it.
    pub seq: u64,
    /// What the unit shows now.
    pub value: Value,
}

impl Projections {
    pub(crate) fn new(ctx: Context, sessions: Handle<SessionStore>) -> Self {
        Self { ctx, sessions, inner: Arc::default() }
    }

    /// Registers a unit for all sessions, until the context's plugin unloads or the effect is disposed. A unit that is there
    /// already is shared; it goes when the last one who registered it does.
    ///
    /// # Errors
    /// A unit of the key is there whose states have another version, or that is of another type, or the context is
    /// inactive.
    pub fn register<U: Unit>(&self, ctx: &Context, unit: U) -> Result<Effect, RegisterError> {
        let entry = self.inner.registry.add(unit)?;
        let release = Release { inner: self.inner.clone(), entry };
        // Dropped with the closure if the context is inactive, so taken back then too.
        Ok(ctx.effect(format!("sessionProjection.register({:?})", U::KEY), async move || drop(release))?)
    }

    /// What clients see of the session now.
    #[must_use]
    pub fn snapshot(&self, session: &Arc<Session>) -> Snapshot {
        let (count, cells) = self.at_one_moment(session);
        let mut snapshot = Snapshot::of(count);
        for (unit, cell) in &cells {
            if let Err(error) = snapshot.show(unit, cell) {
                report(unit, session, &error);
            }
        }
        snapshot
    }

    /// The state of a unit now; none if it is not registered, or failed at this session's log.
    #[must_use]
    pub fn state_of<U: Unit>(&self, session: &Arc<Session>) -> Option<U::State> {
        let unit = self.inner.registry.find::<U>()?;
        self.folded(session, &unit)?.state.downcast_ref::<U::State>().cloned()
    }

    /// The state of every unit now, also of those that show nothing, to be set aside.
    #[must_use]
    pub fn checkpoint(&self, session: &Arc<Session>) -> Rows {
        let (_, cells) = self.at_one_moment(session);
        let mut rows = Rows::new();
        for (unit, cell) in cells {
            match unit.unit.save(&cell.state) {
                Ok(val) => {
                    let row = Row { ver: unit.unit.version(), seq: cell.seq(), val };
                    rows.insert(unit.unit.key().to_owned(), row);
                }
                Err(error) => report(&unit, session, &error),
            }
        }
        rows
    }

    /// From which event on a log must be read to continue these rows; none if there are no units.
    #[must_use]
    pub fn restore_floor(&self, rows: &Rows) -> Option<u64> {
        rows::floor(&self.inner.registry.all(), rows)
    }

    /// Continues rows with the events of a log, of which the first has the number `base`. A row counts if it is of the
    /// unit's version and the events continue it; a unit without such a row begins anew, with the first event of the log.
    ///
    /// # Errors
    /// A unit must begin anew and the events do not begin there, the events have a gap, or a state cannot be read or made.
    pub fn restore(&self, rows: &Rows, events: &[Arc<Event>], base: u64) -> Result<Restored, RestoreError> {
        rows::restore(&self.inner.registry.all(), rows, events, base)
    }

    /// Takes an event that was added, and tells of what it changed.
    pub(crate) fn drive(&self, added: &SessionEvent) {
        let SessionEvent { session, event } = added;
        for unit in self.inner.registry.all() {
            // No event follows before this one was told to all, so the last change is this one or an older one.
            let changed = |cell: &Cell| cell.changed_at == Some(event.seq());
            let Some(cell) = self.folded(session, &unit).filter(changed) else { continue };
            match unit.unit.view(&cell.state) {
                Ok(None) => {}
                Ok(Some(value)) => {
                    let key = unit.unit.key();
                    let changed = Changed { session: session.clone(), key, seq: event.seq(), value };
                    self.ctx.emit(CHANGED, &changed);
                }
                Err(error) => report(&unit, session, &error),
            }
        }
    }

    pub(crate) fn forget(&self, session: &Arc<Session>) {
        let gone = self.inner.live.remove_if(session.id(), |_, projected| projected.is_of(session));
        drop(gone);
    }

    /// All cells that hold exactly the same events, and how many these are.
    fn at_one_moment(&self, session: &Arc<Session>) -> (u64, Vec<(Arc<Registered>, Cell)>) {
        loop {
            let count = session.len();
            let units = self.inner.registry.all();
            let cells = units.into_iter().filter_map(|unit| {
                let cell = self.folded(session, &unit)?;
                Some((unit, cell))
            });
            let cells: Vec<_> = cells.collect();
            // Else an event was added meanwhile, and the next look has it.
            if session.len() == count && cells.iter().all(|(_, cell)| cell.taken == count) {
                return (count, cells);
            }
        }
    }

    /// The unit's cell with all that the log holds; none if the unit failed.
    fn folded(&self, session: &Arc<Session>, unit: &Registered) -> Option<Cell> {
        let projected = self.projected(session);
        let kept = projected.cells.lock().get(&unit.number).cloned();
        let events = session.events();
        let folded = match kept {
            Some(Slot::Failed) => return None,
            Some(Slot::Folded(cell)) if cell.taken >= events.len() as u64 => return Some(cell),
            Some(Slot::Folded(cell)) => Ok(cell),
            None => Cell::new(unit),
        };
        let folded = folded.and_then(|mut cell| cell.catch_up(unit, &events).map(|()| cell));
        let slot = match &folded {
            Ok(cell) => Slot::Folded(cell.clone()),
            Err(error) => {
                report(unit, session, error);
                Slot::Failed
            }
        };
        let replaced = projected.put(unit, slot);
        drop(replaced);
        folded.ok()
    }

    /// The session's cells; for a session that is not live, cells that nobody keeps.
    fn projected(&self, session: &Arc<Session>) -> Arc<Projected> {
        if let Some(found) = self.inner.live.get(session.id()).filter(|found| found.is_of(session)) {
            return found.clone();
        }
        let fresh = Arc::new(Projected::new(session));
        if !self.is_live(session) {
            return fresh;
        }
        let mut replaced = None;
        let projected = {
            let mut entry = self.inner.live.entry(session.id().to_owned()).or_insert_with(|| fresh.clone());
            if !entry.is_of(session) {
                replaced = Some(std::mem::replace(&mut *entry, fresh));
            }
            entry.clone()
        };
        drop(replaced);
        // It may have left meanwhile, and then nobody tells of it any more.
        if !self.is_live(session) {
            self.forget(session);
        }
        projected
    }

    fn is_live(&self, session: &Arc<Session>) -> bool {
        self.sessions.get().is_ok_and(|store| store.is_live(session))
    }
}

impl std::fmt::Debug for Projections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Projections").field("live", &self.inner.live.len()).finish_non_exhaustive()
    }
}

impl Projected {
    fn new(session: &Arc<Session>) -> Self {
        Self { session: Arc::downgrade(session), cells: Mutex::default() }
    }

    fn is_of(&self, session: &Arc<Session>) -> bool {
        Weak::ptr_eq(&self.session, &Arc::downgrade(session))
    }

    /// Keeps a slot unless a better one is there or the unit is gone; gives what is not kept.
    fn put(&self, unit: &Registered, slot: Slot) -> Option<Slot> {
        let mut cells = self.cells.lock();
        if !unit.is_live() {
            return Some(slot);
        }
        let is_newer = match (cells.get(&unit.number), &slot) {
            (Some(Slot::Folded(there)), Slot::Folded(new)) => there.taken < new.taken,
            (Some(Slot::Failed), _) => false,
            (Some(Slot::Folded(_)) | None, _) => true,
        };
        if is_newer { cells.insert(unit.number, slot) } else { Some(slot) }
    }
}

impl Snapshot {
    /// One that shows nothing yet, of a log of so many events.
    pub(crate) fn of(count: u64) -> Self {
        Self { as_of_seq: last_seq(count), values: Map::new() }
    }

    pub(crate) fn show(&mut self, unit: &Registered, cell: &Cell) -> Result<(), UnitError> {
        if let Some(value) = unit.unit.view(&cell.state)? {
            self.values.insert(unit.unit.key().to_owned(), value);
        }
        Ok(())
    }
}

/// Releases a unit when dropped.
struct Release {
    inner: Arc<Inner>,
    entry: Arc<Registered>,
}

impl Drop for Release {
    fn drop(&mut self) {
        if !self.inner.registry.release(&self.entry) {
            return;
        }
        let sessions: Vec<_> = self.inner.live.iter().map(|entry| entry.value().clone()).collect();
        for projected in sessions {
            let gone = projected.cells.lock().remove(&self.entry.number);
            drop(gone);
        }
    }
}

fn report(unit: &Registered, session: &Session, error: &UnitError) {
    tracing::error!(unit = unit.unit.key(), session = session.id(), %error, "a projection failed");
}
