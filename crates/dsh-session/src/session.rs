//! A session: one log, the conversation that it makes, and the one place where events are added.
//!
//! **Invariants**
//! 1. The number of an event is its place: contiguous from 0, never used again.
//! 2. A refused append changes nothing.
//! 3. Appends are one at a time: a second thread waits for its turn, an observer of the same session is refused. The
//!    announcement takes a turn too.
//! 4. No lock of the state is held while observers run; who appends holds only the turn.
//!
//! **Lock order** turn → state.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cordis::{Context, ScopeKey};
use dsh_llm::Message;
use parking_lot::{Mutex, ReentrantMutex, ReentrantMutexGuard};

use crate::error::{AppendError, BadHeader, SeedError, SurfaceError};
use crate::event::Event;
use crate::events::{Events, Segment};
use crate::fold::Fold;
use crate::header::SessionHeader;
use crate::keys::{APPENDING, EVENT};
use crate::list::List;
use crate::new_event::NewEvent;
use crate::packed::CHUNK;
use crate::payload::{EndSeed, EpochHeader, Payload, RequestContext};
use crate::run::Run;
use crate::seed::{self, Seed};
use crate::surface::Surface;
use crate::turn::OpenTurn;

/// How often one who leaves looks whether the turn is over.
const RETRY: Duration = Duration::from_millis(1);

/// One session.
pub struct Session {
    header: Arc<SessionHeader>,
    first_live: u64,
    turn: ReentrantMutex<Turn>,
    /// A detach was asked for while somebody had the turn.
    detach_asked: AtomicBool,
    state: Mutex<State>,
    attachment: OnceLock<Attachment>,
}

/// Whose turn it is to append, or to tell that the session is there.
#[derive(Default)]
struct Turn {
    appending: Cell<bool>,
    announcing: Cell<bool>,
}

/// Marks that the thread is inside of the turn of a session, while it lives.
struct Inside(());

thread_local! { static INSIDE: Cell<usize> = const { Cell::new(0) }; }

impl Inside {
    fn enter() -> Self {
        INSIDE.set(INSIDE.get() + 1);
        Self(())
    }

    fn any() -> bool {
        INSIDE.get() > 0
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

#[derive(Default)]
struct State {
    events: Events,
    fold: Fold,
    open_turn: Option<OpenTurn>,
    detached: bool,
}

/// Where the session's events are told.
pub(crate) struct Attachment {
    pub(crate) ctx: Context,
    pub(crate) owner: Option<ScopeKey>,
    /// Run when the session is detached.
    pub(crate) detached: Detached,
}

pub(crate) type Detached = Box<dyn Fn(&Arc<Session>) + Send + Sync>;

/// An event was added to a session; see [`EVENT`](crate::EVENT).
#[derive(Clone)]
pub struct SessionEvent {
    /// The session.
    pub session: Arc<Session>,
    /// The event, which the session holds already.
    pub event: Arc<Event>,
}

/// An event is about to be added to a session; see [`APPENDING`](crate::APPENDING).
#[derive(Clone)]
pub struct Appending {
    /// The session, which does not hold the event yet.
    pub session: Arc<Session>,
    /// The event.
    pub event: Arc<Event>,
}

impl Session {
    /// A session of no store and without a past: nobody is told of its events.
    pub fn detached(id: impl Into<String>) -> Arc<Self> {
        Self::assemble(SessionHeader::new(id, now_ms().unsigned_abs()), State::default(), 0)
    }

    /// A session of no store. With a seed, even an empty one, it starts from the seed's events and marks their end.
    ///
    /// # Errors
    /// The header has a field that cannot be, or an event of the seed cannot stand where it does.
    pub fn new(header: SessionHeader, seed: Option<Seed>) -> Result<Arc<Self>, SeedError> {
        header.check().map_err(|reason| SeedError::Header(BadHeader { reason }))?;
        let mut state = State::default();
        let Some(seed) = seed else { return Ok(Self::assemble(header, state, 0)) };
        match seed.events {
            Ok(events) => {
                for segment in events.segments() {
                    match segment {
                        Segment::One(event) => state.admit(event.clone())?,
                        Segment::Run(run) => state.admit_run(run)?,
                    }
                }
            }
            Err(events) => events.into_iter().try_for_each(|event| state.admit(event))?,
        }
        let first_live = state.events.len() as u64;
        if state.events.last().is_none_or(|event| event.kind() != EndSeed::TYPE) {
            let marker = NewEvent::new(&EndSeed {})
                .map_err(|error| SeedError::Header(BadHeader { reason: error.to_string() }))?;
            let marker = build(marker, first_live);
            state.admit(Arc::new(marker))?;
        }
        Ok(Self::assemble(header, state, first_live))
    }

    fn assemble(header: SessionHeader, state: State, first_live: u64) -> Arc<Self> {
        Arc::new(Self {
            header: Arc::new(header),
            first_live,
            turn: ReentrantMutex::default(),
            detach_asked: AtomicBool::new(false),
            state: Mutex::new(state),
            attachment: OnceLock::new(),
        })
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Who the session is.
    #[must_use]
    pub fn header(&self) -> &Arc<SessionHeader> {
        &self.header
    }

    /// The number of the first event that was not given to the session when it was made.
    #[must_use]
    pub fn first_live_seq(&self) -> u64 {
        self.first_live
    }

    /// How many events there are, which is the number of the next one.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.state.lock().events.len() as u64
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The events so far. The list does not grow any more.
    #[must_use]
    pub fn events(&self) -> Events {
        self.state.lock().events.clone()
    }

    /// The conversation that the model sees: the messages of the log themselves, in order. Costs the same however long it
    /// is. An answer without content is left out; nothing is merged.
    #[must_use]
    pub fn messages(&self) -> List<Arc<Message>> {
        self.state.lock().fold.messages()
    }

    /// Which events make up the conversation.
    #[must_use]
    pub fn surface(&self) -> Surface {
        self.state.lock().fold.surface().clone()
    }

    /// How often a part of the conversation was replaced.
    #[must_use]
    pub fn replace_generation(&self) -> u64 {
        self.state.lock().fold.surface().replace_generation()
    }

    /// With which settings, instructions and tools a model is asked, in canonical form.
    #[must_use]
    pub fn request_header(&self) -> Option<Arc<EpochHeader>> {
        self.state.lock().fold.header()
    }

    /// Which model is asked; the latest record as a whole.
    #[must_use]
    pub fn request_context(&self) -> Option<Arc<RequestContext>> {
        self.state.lock().fold.context()
    }

    /// The turn that is open, if one is. Costs the same however long the log is.
    #[must_use]
    pub fn open_turn(&self) -> Option<OpenTurn> {
        self.state.lock().open_turn
    }

    /// The scope whose listeners hear of the session, if it is an agent's.
    #[must_use]
    pub fn owner(&self) -> Option<&ScopeKey> {
        self.attachment.get()?.owner.as_ref()
    }

    /// Adds an event: it gets the next number and the current time, and is there for good when this returns. In a store,
    /// validators are asked before that ([`APPENDING`](crate::APPENDING)) and observers told after it
    /// ([`EVENT`](crate::EVENT)), on this thread.
    ///
    /// # Errors
    /// The type is one of the past, the mark or the sources are not allowed, a validator refused, or the caller is inside
    /// of another append of this session, or of another session while this one is appended to elsewhere. The session is as it
    /// was.
    pub fn append(self: &Arc<Self>, new: NewEvent) -> Result<Arc<Event>, AppendError> {
        self.append_if(new, None)
    }

    /// As [`append`](Self::append), if this turn is still open: nobody can end it in between.
    ///
    /// # Errors
    /// As [`append`](Self::append), or the turn has ended.
    pub fn append_to_turn(
        self: &Arc<Self>,
        turn: OpenTurn,
        new: NewEvent,
    ) -> Result<Arc<Event>, AppendError> {
        // Also where nothing could be added, one who is late is told so.
        if self.open_turn() != Some(turn) {
            return Err(self.turn_ended(new));
        }
        self.append_if(new, Some(turn))
    }

    /// Keeps everybody else from appending while `work` runs: what it reads stays as it is until it appends, and what it does
    /// after an append is done before the next one. `work` appends by [`append`](Self::append); it must not wait for another
    /// thread that uses the session.
    ///
    /// # Errors
    /// The caller is inside of an append of this session, or of another session while this one is appended to elsewhere;
    /// `work` is not run then.
    pub fn exclusively<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> Result<R, AppendError> {
        let done = {
            let contended = || AppendError::Contended { session: self.id().to_owned() };
            let turn = self.take_turn().ok_or_else(contended)?;
            if turn.appending.get() {
                return Err(AppendError::Reentrant { session: self.id().to_owned() });
            }
            let _inside = Inside::enter();
            work()
        };
        self.detach_if_asked();
        Ok(done)
    }

    fn turn_ended(&self, new: NewEvent) -> AppendError {
        AppendError::TurnEnded { session: self.id().to_owned(), kind: new.kind.into_owned() }
    }

    fn append_if(self: &Arc<Self>, new: NewEvent, open: Option<OpenTurn>) -> Result<Arc<Event>, AppendError> {
        seed::refuse_legacy(&new.kind, new.data.get())
            .map_err(|reason| AppendError::Legacy { session: self.id().to_owned(), reason })?;
        let result = {
            let contended = || AppendError::Contended { session: self.id().to_owned() };
            let turn = self.take_turn().ok_or_else(contended)?;
            if turn.appending.get() {
                return Err(AppendError::Reentrant { session: self.id().to_owned() });
            }
            let _inside = Inside::enter();
            let _done = Ends::when(&turn.appending);
            self.append_now(new, open)
        };
        self.detach_if_asked();
        result
    }

    /// Waits for the turn. One who is inside of the turn of another session does not wait, since that one's holder may wait
    /// for this thread.
    fn take_turn(&self) -> Option<ReentrantMutexGuard<'_, Turn>> {
        if Inside::any() { self.turn.try_lock() } else { Some(self.turn.lock()) }
    }

    fn append_now(
        self: &Arc<Self>,
        new: NewEvent,
        open: Option<OpenTurn>,
    ) -> Result<Arc<Event>, AppendError> {
        let (event, plan, attached) = {
            let state = self.state.lock();
            // Appends are one at a time, so what is open now is open when the event is added.
            if open.is_some() && open != state.open_turn {
                return Err(self.turn_ended(new));
            }
            let event = Arc::new(build(new, state.events.len() as u64));
            let plan = state.plan(&event).map_err(|source| AppendError::Surface {
                session: self.id().to_owned(),
                kind: event.kind().to_owned(),
                source,
            })?;
            (event, plan, !state.detached)
        };
        let attachment = self.attachment.get().filter(|_| attached);
        if let Some(at) = attachment {
            let appending = Appending { session: self.clone(), event };
            at.ctx.announce(APPENDING, &appending).map_err(|source| AppendError::Refused {
                session: self.id().to_owned(),
                kind: appending.event.kind().to_owned(),
                source,
            })?;
            let Appending { session, event } = appending;
            self.state.lock().commit(event.clone(), plan);
            let told = SessionEvent { session, event };
            at.ctx.emit(EVENT, &told);
            return Ok(told.event);
        }
        self.state.lock().commit(event.clone(), plan);
        Ok(event)
    }

    /// Joins a store, once.
    pub(crate) fn attach(&self, attachment: Attachment) -> Result<(), Attachment> {
        self.attachment.set(attachment)
    }

    pub(crate) fn attachment(&self) -> Option<&Attachment> {
        self.attachment.get()
    }

    /// Tells that the session is in its store. It stays there until all have heard: a detach waits for the turn.
    /// None if it has left before that.
    pub(crate) fn announcing<R>(self: &Arc<Self>, announce: impl FnOnce() -> R) -> Option<R> {
        let announced = {
            // Nobody else knows of it, or only through the store: there is nobody to wait for in a circle.
            let turn = self.turn.lock();
            if self.is_detached() || self.detach_asked.load(SeqCst) {
                None
            } else {
                let _inside = Inside::enter();
                let _done = Ends::when(&turn.announcing);
                Some(announce())
            }
        };
        self.detach_if_asked();
        announced
    }

    /// Leaves its store, once: now, or when the append or the announcement that goes on is over.
    pub(crate) fn detach(self: &Arc<Self>) {
        if !self.is_detached() {
            self.detach_asked.store(true, SeqCst);
            self.detach_if_asked();
        }
    }

    /// As [`detach`](Self::detach), and waits until nobody is told of the session any more; inside of what it would wait for
    /// it only asks.
    pub(crate) async fn until_detached(self: Arc<Self>) {
        self.detach();
        // An observer may wait for this very thread, so the turn is not waited for. It is short, and rarely taken.
        while !self.is_detached() && !Inside::any() {
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Detaches if that was asked for and nobody has the turn; who has it looks again when it ends.
    fn detach_if_asked(self: &Arc<Self>) {
        while self.detach_asked.load(SeqCst) {
            let Some(turn) = self.turn.try_lock() else { return };
            if turn.appending.get() || turn.announcing.get() {
                return;
            }
            self.detach_asked.store(false, SeqCst);
            self.detach_now();
        }
    }

    /// Whether it has left its store.
    pub(crate) fn is_detached(&self) -> bool {
        self.state.lock().detached
    }

    fn detach_now(self: &Arc<Self>) {
        if std::mem::replace(&mut self.state.lock().detached, true) {
            return;
        }
        if let Some(at) = self.attachment.get() {
            (at.detached)(self);
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.header.id).finish_non_exhaustive()
    }
}

/// Marks what is being done in a turn; ends it also when an observer's panic comes through.
struct Ends<'t>(&'t Cell<bool>);

impl<'t> Ends<'t> {
    fn when(doing: &'t Cell<bool>) -> Self {
        doing.set(true);
        Self(doing)
    }
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl State {
    fn plan(&self, event: &Event) -> Result<crate::surface::Plan, crate::error::SurfaceError> {
        let earlier = |seq: u64| self.events.get(usize::try_from(seq).ok()?);
        self.fold.surface().plan(event, earlier)
    }

    fn commit(&mut self, event: Arc<Event>, plan: crate::surface::Plan) {
        self.fold.commit(&event, plan, &self.events);
        self.open_turn = OpenTurn::after(self.open_turn, &event);
        self.events.push(event);
    }

    /// Takes a run of a seed: nothing of it is part of the conversation.
    fn admit_run(&mut self, run: &Arc<Run>) -> Result<(), SeedError> {
        let (expected, found) = (self.events.len() as u64, run.first_seq());
        if expected != found {
            return Err(SeedError::Event {
                seq: found,
                kind: CHUNK.to_owned(),
                reason: SurfaceError::NotNext { expected, found }.to_string(),
            });
        }
        self.fold.pass(run.len() as u64);
        self.events.push_shared(run.clone());
        Ok(())
    }

    /// Takes an event of a seed.
    fn admit(&mut self, event: Arc<Event>) -> Result<(), SeedError> {
        let plan = self.plan(&event).map_err(|source| SeedError::Event {
            seq: event.seq(),
            kind: event.kind().to_owned(),
            reason: source.to_string(),
        })?;
        self.commit(event, plan);
        Ok(())
    }
}

fn build(new: NewEvent, seq: u64) -> Event {
    let NewEvent { kind, data, surface, sources, message } = new;
    Event { seq, time_ms: now_ms(), kind, data, surface, sources, ignorable: false, message }
}

/// The wall clock.
pub(crate) fn now_ms() -> i64 {
    let since = |time: Result<Duration, std::time::SystemTimeError>| match time {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    };
    since(SystemTime::now().duration_since(UNIX_EPOCH))
}
