//! All fibers of an app, under one lock.
//!
//! **Invariants**
//! 1. Under the lock no foreign code runs and no user value is dropped.
//! 2. A fiber is advanced by one thread at a time (`advancing`), which looks at everything anew under the lock before it
//!    lets go. One exception: who runs a body lets go first (`leave` in `pump`), since the body may block, and touches the
//!    fiber from then on only by the number of that load, which a later one does not have.
//! 3. A record leaves `effects` only when its undoing is over or given up.
//!
//! **Lock order** this lock → a bucket's list | a `Done` | a fiber cell's error. Read paths never take it.

use crate::{
    BoxError, Context, DEFAULT_LIMIT, Inactive, State,
    chain::chain,
    disposed::Disposed,
    done::Done,
    effect::{Record, Undo},
    error::SharedError,
    fiber::FiberCell,
    needs::Need,
    ordered::Ordered,
    plugin::Mounted,
    service::AnyProvided,
    sync::Arc,
    view::View,
};
use slotmap::SlotMap;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    hash::{BuildHasherDefault, Hasher},
    task::{Context as Cx, Waker},
    time::Duration,
};

slotmap::new_key_type! {
    /// The place of a fiber in its app's table; a stale one finds nothing.
    pub struct FiberId;
}

/// An error with its text, which is foreign code to make and so is made once, outside of the lock.
#[derive(Clone)]
pub(crate) struct Caught {
    pub(crate) error: SharedError,
    pub(crate) text: Arc<str>,
}

impl Caught {
    pub(crate) fn new(error: BoxError) -> Self {
        let error = SharedError::from(error);
        Caught { text: chain(&*error).into(), error }
    }
}

/// How the last run of a body ended.
pub(crate) enum Loaded {
    Well,
    /// Boxed: a fiber is kept small, and most do not fail.
    Failed(Box<Caught>),
    /// Dropped before its end: disposed, updated, or a need was withdrawn.
    Cancelled,
}

/// Who satisfied a need in the last load: the act of providing and its owner; id 0 for an absent optional need.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) id: u64,
    pub(crate) owner: FiberId,
}

pub(crate) struct Data {
    pub(crate) cell: Arc<FiberCell>,
    /// None for the root and for scopes, which have no body.
    pub(crate) plugin: Option<Arc<dyn Mounted>>,
    pub(crate) view: Option<Arc<View>>,
    pub(crate) parent: FiberId,
    /// Its record among the parent's effects.
    pub(crate) effect: u64,
    pub(crate) needs: Box<[Need]>,
    pub(crate) epoch: Box<[Source]>,
    /// Its registrations, parts of others left out.
    pub(crate) effects: Ordered<u64, Record>,
    pub(crate) loaded: Option<Loaded>,
    /// Counts loads, so that one that was given up is not taken for the current one.
    pub(crate) load: u32,
    /// Not announced yet: observers of its creation run.
    pub(crate) fresh: bool,
    /// Its disposal was asked for and is being told.
    pub(crate) told: bool,
    pub(crate) disposing: bool,
    pub(crate) restart: bool,
    /// A failed fiber tries again.
    pub(crate) retry: bool,
    /// The running body is to be dropped.
    pub(crate) cancel: bool,
    pub(crate) queued: bool,
    pub(crate) advancing: bool,
    /// A body or one step of the teardown is under way.
    pub(crate) busy: bool,
    pub(crate) gone: Option<Arc<Done>>,
    /// Boxed: most fibers are waited for once, if at all, and a fiber is kept small.
    #[allow(clippy::box_collection, reason = "eight bytes instead of twenty-four")]
    waiters: Option<Box<Vec<(u64, Waker)>>>,
    pub(crate) rare: Option<Box<Rare>>,
}

/// What most fibers never have.
#[derive(Default)]
pub(crate) struct Rare {
    /// The dependants of its own services, which are drained before its effects are undone.
    pub(crate) drain: Option<Arc<Done>>,
    /// The providers that wait for it to unload.
    pub(crate) drains: Vec<Arc<Done>>,
    pub(crate) body_waker: Option<Waker>,
    pub(crate) body_over: Option<Arc<Done>>,
    /// What availability checks said, by act of providing.
    pub(crate) verdicts: Vec<(u64, bool)>,
    /// Counts notifications, so that an answer that is out of date when it arrives is not kept.
    pub(crate) notified: u64,
    /// The checks are being asked a second time in a row.
    pub(crate) asked_again: bool,
    pub(crate) leftovers: Disposed,
    /// The registrations that are parts of others; their groups name them.
    pub(crate) parts: Ordered<u64, Record>,
    /// The effects whose teardown has a limit of its own.
    pub(crate) limits: BTreeMap<u64, Duration>,
}

impl Data {
    pub(crate) fn new(cell: Arc<FiberCell>, parent: FiberId, effect: u64) -> Self {
        Data {
            cell,
            plugin: None,
            view: None,
            parent,
            effect,
            needs: Box::default(),
            epoch: Box::default(),
            effects: Ordered::default(),
            loaded: None,
            load: 0,
            fresh: false,
            told: false,
            disposing: false,
            restart: false,
            retry: false,
            cancel: false,
            queued: false,
            advancing: false,
            busy: false,
            gone: None,
            waiters: None,
            rare: None,
        }
    }

    pub(crate) fn state(&self) -> State {
        self.cell.state()
    }

    /// Whether its plugin declares that it provides this service.
    pub(crate) fn declares(&self, service: &str) -> bool {
        self.plugin.as_ref().is_some_and(|plugin| plugin.provides().contains(&service))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.cell.uid == 0
    }

    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    pub(crate) fn accepts(&self) -> bool {
        !self.disposing && !matches!(self.state(), State::Unloading | State::Disposed)
    }

    /// Nothing is under way and nothing was asked for.
    pub(crate) fn is_settled(&self) -> bool {
        let resting = matches!(self.state(), State::Active | State::Pending | State::Failed);
        resting && !(self.queued || self.advancing || self.busy || self.disposing || self.fresh)
    }

    /// Enters who waits, under a number of its own choice.
    pub(crate) fn wait(&mut self, waiter: u64, cx: &Cx<'_>) {
        let waiters = self.waiters.get_or_insert_default();
        match waiters.iter_mut().find(|(id, _)| *id == waiter) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => waiters.push((waiter, cx.waker().clone())),
        }
    }

    /// Takes out who no longer waits.
    #[must_use = "drop it outside of the lock"]
    pub(crate) fn leave(&mut self, waiter: u64) -> Option<Waker> {
        let waiters = self.waiters.as_mut()?;
        let place = waiters.iter().position(|(id, _)| *id == waiter)?;
        Some(waiters.swap_remove(place).1)
    }

    /// Those who wait for a change.
    pub(crate) fn woken(&mut self) -> impl Iterator<Item = Waker> + use<> {
        self.waiters.take().into_iter().flat_map(|waiters| waiters.into_iter().map(|(_, waker)| waker))
    }

    /// Enters a record; into its group too, if it has one.
    pub(crate) fn add(&mut self, id: u64, record: Record) {
        if record.group == 0 {
            self.effects.insert(id, record);
            return;
        }
        if let Some(Record { undo: Undo::Group(group), .. }) = self.record_mut(record.group) {
            group.children.insert(id, ());
        }
        self.rare().parts.insert(id, record);
    }

    pub(crate) fn record(&self, id: u64) -> Option<&Record> {
        self.effects.get(id).or_else(|| self.rare.as_ref()?.parts.get(id))
    }

    pub(crate) fn record_mut(&mut self, id: u64) -> Option<&mut Record> {
        match self.effects.get_mut(id) {
            None => self.rare.as_mut()?.parts.get_mut(id),
            record => record,
        }
    }

    /// All records: the top ones and parts, each in order.
    pub(crate) fn records(&self) -> impl Iterator<Item = (u64, &Record)> {
        let parts = self.rare.iter().flat_map(|rare| rare.parts.iter());
        self.effects.iter().chain(parts)
    }

    pub(crate) fn set_limit(&mut self, effect: u64, limit: Duration) {
        if self.record(effect).is_some() {
            self.rare().limits.insert(effect, limit);
        }
    }

    /// How long the teardown of an effect may take.
    pub(crate) fn limit_of(&self, effect: u64) -> Duration {
        let limit = self.rare.as_ref().and_then(|rare| rare.limits.get(&effect));
        limit.copied().unwrap_or(DEFAULT_LIMIT)
    }

    #[must_use = "drop it outside of the lock"]
    pub(crate) fn remove(&mut self, id: u64) -> Option<Record> {
        let part = || self.rare.as_mut()?.parts.remove(id);
        let record = self.effects.remove(id).or_else(part)?;
        if let Some(rare) = &mut self.rare {
            rare.limits.remove(&id);
        }
        if record.group != 0
            && let Some(Record { undo: Undo::Group(group), .. }) = self.record_mut(record.group)
        {
            group.children.remove(id);
        }
        Some(record)
    }

    /// The services among its effects.
    pub(crate) fn services(&self) -> Vec<Arc<dyn AnyProvided>> {
        let service = |record: &Record| match &record.undo {
            Undo::Service(provided) => Some(provided.clone()),
            _ => None,
        };
        self.records().filter_map(|(_, record)| service(record)).collect()
    }

    /// Whether a need of the last load is met by this act of providing.
    pub(crate) fn uses(&self, provided: u64) -> bool {
        self.epoch.iter().any(|source| source.id == provided)
    }
}

/// Who provides the service of one slot, and who needs it.
#[derive(Default)]
pub(crate) struct SlotState {
    pub(crate) provided: Option<Arc<dyn AnyProvided>>,
    /// By uid, that is in the order of mounting.
    pub(crate) dependants: Ordered<u64, FiberId>,
}

impl SlotState {
    fn is_unused(&self) -> bool {
        self.provided.is_none() && self.dependants.is_empty()
    }
}

/// Slot ids are counted numbers: spread by one multiplication, not hashed.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[derive(Default)]
pub(crate) struct Fibers {
    map: SlotMap<FiberId, Box<Data>>,
    pub(crate) slots: HashMap<u64, SlotState, BuildHasherDefault<Identity>>,
    pub(crate) queue: VecDeque<FiberId>,
    /// A task that works the queue off is on its way.
    pub(crate) pump_spawned: bool,
    /// The root goes for good, with everything.
    pub(crate) shutting_down: bool,
    /// Those who wait for an empty queue.
    pub(crate) quiet: Vec<Waker>,
    next_uid: u64,
}

impl Fibers {
    pub(crate) fn get(&self, id: FiberId) -> Option<&Data> {
        self.map.get(id).map(|data| &**data)
    }

    pub(crate) fn get_mut(&mut self, id: FiberId) -> Option<&mut Data> {
        self.map.get_mut(id).map(|data| &mut **data)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Data> {
        self.map.values().map(|data| &**data)
    }

    #[cfg(feature = "testing")]
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    pub(crate) fn insert(&mut self, make: impl FnOnce(FiberId, u64) -> Box<Data>) -> FiberId {
        let uid = self.next_uid;
        self.next_uid += 1;
        self.map.insert_with_key(|id| make(id, uid))
    }

    /// The root, active from the start.
    pub(crate) fn insert_root(&mut self) -> Arc<FiberCell> {
        let mut root = None;
        self.insert(|id, uid| {
            let cell = Arc::new(FiberCell::new(id, uid, "root".into(), State::Active));
            root = Some(cell.clone());
            Box::new(Data::new(cell, FiberId::default(), 0))
        });
        root.unwrap_or_else(|| {
            Arc::new(FiberCell::new(FiberId::default(), 0, "root".into(), State::Disposed))
        })
    }

    #[must_use = "drop it outside of the lock"]
    pub(crate) fn remove(&mut self, id: FiberId) -> Option<Box<Data>> {
        let data = self.map.remove(id)?;
        for need in &data.needs {
            self.forget_dependant(need.slot.id(), data.cell.uid);
        }
        Some(data)
    }

    /// The owner of a new registration, if it takes any.
    pub(crate) fn accepting(&mut self, ctx: &Context, action: &'static str) -> Result<&mut Data, Inactive> {
        let refused = || Inactive { action, plugin: ctx.cell().label() };
        let data = self.get_mut(ctx.cell().id).filter(|data| data.accepts()).ok_or_else(refused)?;
        let group = ctx.group();
        if group != 0 && !matches!(data.record(group), Some(Record { undo: Undo::Group(_), .. })) {
            return Err(refused());
        }
        Ok(data)
    }

    pub(crate) fn enqueue(&mut self, id: FiberId) {
        if let Some(data) = self.map.get_mut(id)
            && !data.queued
        {
            data.queued = true;
            self.queue.push_back(id);
        }
    }

    pub(crate) fn add_dependant(&mut self, slot: u64, uid: u64, id: FiberId) {
        let dependants = &mut self.slots.entry(slot).or_default().dependants;
        if dependants.get(uid).is_none() {
            dependants.insert(uid, id);
        }
    }

    fn forget_dependant(&mut self, slot: u64, uid: u64) {
        if let Some(state) = self.slots.get_mut(&slot) {
            state.dependants.remove(uid);
            if state.is_unused() {
                self.slots.remove(&slot);
            }
        }
    }

    /// Whether something above the fiber is being unloaded, and the fiber will be with it.
    pub(crate) fn goes_with_a_parent(&self, id: FiberId) -> bool {
        let parent = |data: &&Data| self.get(data.parent);
        let above = self.get(id).and_then(|data| self.get(data.parent));
        std::iter::successors(above, parent).any(|data| data.disposing || data.state() == State::Unloading)
    }

    /// Takes out the record of an effect that is over, unless it is just being undone: then whoever undoes it does.
    #[must_use = "drop it outside of the lock"]
    pub(crate) fn forget(&mut self, fiber: FiberId, effect: u64) -> Option<Record> {
        let data = self.get_mut(fiber)?;
        let undoing = matches!(data.record(effect), Some(Record { undo: Undo::Busy(_), .. }));
        if undoing { None } else { data.remove(effect) }
    }

    /// Takes the act of providing out of its slot, if it is still the one.
    #[must_use = "drop it outside of the lock"]
    pub(crate) fn unpublish(&mut self, slot: u64, id: u64) -> Option<Arc<dyn AnyProvided>> {
        let state = self.slots.get_mut(&slot)?;
        let provided = state.provided.take_if(|provided| provided.id() == id);
        if state.is_unused() {
            self.slots.remove(&slot);
        }
        provided
    }

    /// The active provider of a slot.
    pub(crate) fn provider(&self, slot: u64) -> Option<&Arc<dyn AnyProvided>> {
        self.slots.get(&slot)?.provided.as_ref().filter(|provided| provided.is_active())
    }

    pub(crate) fn dependants(&self, slot: u64) -> Vec<FiberId> {
        self.slots
            .get(&slot)
            .map_or_else(Vec::new, |state| state.dependants.iter().map(|(_, id)| *id).collect())
    }
}
