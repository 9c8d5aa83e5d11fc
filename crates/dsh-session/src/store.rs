//! The service: which sessions are live.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cordis::{BoxError, Context, Effect, Inactive, ScopeKey};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry as Slot;
use thiserror::Error;

use crate::error::SeedError;
use crate::fork::ForkError;
use crate::header::{Origin, SessionHeader};
use crate::keys::{CREATED, DISPOSED, FLUSH};
use crate::seed::Seed;
use crate::session::{Attachment, Session, now_ms};

/// The sessions that are live.
///
/// A session belongs to the context that it was created through: it leaves the store when that context's plugin unloads or
/// its scope closes, and its events are told to the listeners of that scope.
pub struct SessionStore {
    live: Arc<Live>,
}

#[derive(Default)]
struct Live {
    sessions: DashMap<String, Entry>,
    /// Numbers entries, and names sessions without an id.
    entries: AtomicU64,
    names: AtomicU64,
}

struct Entry {
    number: u64,
    session: Arc<Session>,
}

/// What a session is created with. The default is an empty session under the next free name.
#[derive(Clone, Debug, Default)]
pub struct CreateSession {
    /// Its id; none for `session-N`, the first that is not live. What is stored under that name is another session, so one that
    /// is to be kept needs an id of its own.
    pub id: Option<String>,
    /// The events that it starts from.
    pub seed: Option<Seed>,
    /// When it was created; none for now.
    pub created_at_ms: Option<u64>,
    /// The folder that it works in, an absolute path.
    pub cwd: Option<String>,
    /// The session that it was forked from.
    pub parent_session: Option<String>,
    /// How many leading events came from the parent.
    pub seed_length: Option<u64>,
    /// Where it came from, if not from a user.
    pub origin: Option<Origin>,
    /// 0 for a user's session, its parent's depth + 1 for a subagent's.
    pub delegation_depth: u64,
    /// The composition that the agent is built from.
    pub agent_preset: Option<String>,
}

/// Why a session was not created. Nothing of it is left.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The id is taken.
    #[error("a session `{id}` is live already: choose another id, or end that one first")]
    Exists {
        /// The id.
        id: String,
    },
    /// The session is, or was, in a store.
    #[error("session `{id}` has been in a store before: make another one")]
    Attached {
        /// The id.
        id: String,
    },
    /// The header or the seed cannot be.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// A listener of `session/created` refused it.
    #[error("session `{id}` was refused")]
    Refused {
        /// The id.
        id: String,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The context ended while the session was being created.
    #[error("session `{id}` ended before it began: the plugin or scope that it belongs to ends")]
    Ended {
        /// The id.
        id: String,
    },
    /// The context is inactive.
    #[error(transparent)]
    Inactive(#[from] Inactive),
}

/// Why a flush failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FlushError {
    /// The session is not in this store.
    #[error("session `{id}` is not live: there is nothing to flush")]
    NotLive {
        /// The id.
        id: String,
    },
    /// A listener failed.
    #[error("session `{id}` was not flushed")]
    Failed {
        /// The id.
        id: String,
        /// The first failure.
        #[source]
        source: BoxError,
    },
}

impl SessionStore {
    /// A store without sessions.
    #[must_use]
    pub fn new() -> Self {
        Self { live: Arc::default() }
    }

    /// Creates a session that lives as long as the context's plugin or scope, and tells of it.
    ///
    /// # Errors
    /// The id is taken, header or seed cannot be, a listener refused, or the context is inactive.
    pub fn create(&self, ctx: &Context, options: CreateSession) -> Result<Arc<Session>, CreateError> {
        let session = self.prepare(options)?;
        self.enter(ctx, &session)?;
        Ok(session)
    }

    /// Makes a session and does not put it into the store. Two of one id may be made; only one enters.
    ///
    /// # Errors
    /// The id is taken now, or header or seed cannot be.
    pub fn prepare(&self, options: CreateSession) -> Result<Arc<Session>, CreateError> {
        let id = options.id.unwrap_or_else(|| self.free_name());
        if self.live.sessions.contains_key(&id) {
            return Err(CreateError::Exists { id });
        }
        let header = SessionHeader {
            id,
            created_at_ms: options.created_at_ms.unwrap_or_else(|| now_ms().unsigned_abs()),
            cwd: options.cwd,
            parent_session: options.parent_session,
            seed_length: options.seed_length,
            origin: options.origin,
            delegation_depth: options.delegation_depth,
            agent_preset: options.agent_preset,
        };
        Ok(Session::new(header, options.seed)?)
    }

    /// Puts a session into the store, for as long as the context's plugin or scope lives, and tells of it. The effect ends
    /// it earlier.
    ///
    /// # Errors
    /// The id is taken, the session was in a store before, a listener refused, or the context is inactive.
    pub fn enter(&self, ctx: &Context, session: &Arc<Session>) -> Result<Effect, CreateError> {
        self.enter_for(ctx, session, ctx.scope_key())
    }

    /// As [`enter`](Self::enter), where the session's events are told to the listeners of another scope than the one that it
    /// lives as long as.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub fn enter_for(
        &self,
        ctx: &Context,
        session: &Arc<Session>,
        owner: Option<&ScopeKey>,
    ) -> Result<Effect, CreateError> {
        let id = session.id().to_owned();
        let number = self.live.entries.fetch_add(1, Relaxed);
        let announced = Arc::new(std::sync::atomic::AtomicBool::new(false));
        match self.live.sessions.entry(id.clone()) {
            Slot::Occupied(_) => return Err(CreateError::Exists { id }),
            Slot::Vacant(slot) => {
                let attachment = self.attachment(ctx, owner, number, announced.clone());
                if session.attach(attachment).is_err() {
                    return Err(CreateError::Attached { id });
                }
                slot.insert(Entry { number, session: session.clone() });
            }
        }
        let leaving = session.clone();
        let effect = match ctx
            .effect(format!("sessions.create({id:?})"), async move || leaving.until_detached().await)
        {
            Ok(effect) => effect,
            Err(inactive) => {
                session.detach();
                return Err(inactive.into());
            }
        };
        let announce = || {
            announced.store(true, Relaxed);
            ctx.announce(CREATED, session)
        };
        match session.announcing(announce) {
            Some(Ok(())) => Ok(effect),
            Some(Err(source)) => {
                effect.cancel();
                Err(CreateError::Refused { id, source })
            }
            None => Err(CreateError::Ended { id }),
        }
    }

    fn attachment(
        &self,
        ctx: &Context,
        owner: Option<&ScopeKey>,
        number: u64,
        announced: Arc<std::sync::atomic::AtomicBool>,
    ) -> Attachment {
        let live = Arc::downgrade(&self.live);
        Attachment {
            // The root's: events are told as long as the app lives, whoever created the session.
            ctx: ctx.root(),
            owner: owner.cloned(),
            detached: Box::new(move |session| {
                if let Some(live) = live.upgrade() {
                    live.sessions.remove_if(session.id(), |_, entry| entry.number == number);
                }
                if announced.load(Relaxed)
                    && let Some(at) = session.attachment()
                {
                    at.ctx.emit(DISPOSED, session);
                }
            }),
        }
    }

    /// A live session.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.live.sessions.get(id).map(|entry| entry.session.clone())
    }

    /// The live sessions, in the order in which they entered.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Session>> {
        let mut entries: Vec<_> =
            self.live.sessions.iter().map(|entry| (entry.number, entry.session.clone())).collect();
        entries.sort_unstable_by_key(|(number, _)| *number);
        entries.into_iter().map(|(_, session)| session).collect()
    }

    /// Whether this very session is live here.
    #[must_use]
    pub fn is_live(&self, session: &Arc<Session>) -> bool {
        self.get(session.id()).is_some_and(|live| Arc::ptr_eq(&live, session))
    }

    /// Has everything of a session made durable that was added so far. Whether anybody does that is what it gives.
    ///
    /// # Errors
    /// The session is not live, or a listener of [`FLUSH`] failed: then some of it may not be durable.
    pub async fn flush(&self, session: &Arc<Session>) -> Result<bool, FlushError> {
        let id = || session.id().to_owned();
        let Some(at) = session.attachment().filter(|_| self.is_live(session)) else {
            return Err(FlushError::NotLive { id: id() });
        };
        let heard = match &at.owner {
            Some(scope) => at.ctx.at(scope).listeners(FLUSH),
            None => at.ctx.listeners(FLUSH),
        } > 0;
        match at.ctx.parallel(FLUSH, session).await {
            Ok(()) => Ok(heard),
            Err(failures) => match failures.causes.into_iter().next() {
                Some(first) => Err(FlushError::Failed { id: id(), source: first.cause }),
                None => Ok(heard),
            },
        }
    }

    /// Makes a session from the beginning of a live one; see [`fork_prefix`](crate::fork_prefix).
    ///
    /// # Errors
    /// See [`ForkError`].
    pub fn fork(
        &self,
        ctx: &Context,
        source: &str,
        boundary: Option<u64>,
        child: Option<String>,
    ) -> Result<Arc<Session>, ForkError> {
        if let Some(id) = child.as_ref().filter(|id| self.live.sessions.contains_key(*id)) {
            return Err(ForkError::AlreadyExists { id: id.clone() });
        }
        let parent = self.get(source).ok_or_else(|| ForkError::NotFound { id: source.to_owned() })?;
        self.fork_live(ctx, &parent, boundary, child)
    }

    /// As [`fork`](Self::fork), of a session at hand.
    ///
    /// # Errors
    /// See [`ForkError`].
    pub fn fork_of(
        &self,
        ctx: &Context,
        parent: &Arc<Session>,
        boundary: Option<u64>,
        child: Option<String>,
    ) -> Result<Arc<Session>, ForkError> {
        if let Some(id) = child.as_ref().filter(|id| self.live.sessions.contains_key(*id)) {
            return Err(ForkError::AlreadyExists { id: id.clone() });
        }
        if !self.is_live(parent) {
            return Err(ForkError::NotLive { id: parent.id().to_owned() });
        }
        self.fork_live(ctx, parent, boundary, child)
    }

    fn fork_live(
        &self,
        ctx: &Context,
        parent: &Arc<Session>,
        boundary: Option<u64>,
        child: Option<String>,
    ) -> Result<Arc<Session>, ForkError> {
        let inherited = crate::fork::prefix(parent.id(), &parent.events(), boundary)?;
        let options = CreateSession {
            id: child,
            cwd: parent.header().cwd.clone(),
            parent_session: Some(parent.id().to_owned()),
            seed_length: Some(inherited.len() as u64),
            seed: Some(Seed::from(inherited)),
            ..CreateSession::default()
        };
        Ok(self.create(ctx, options)?)
    }

    fn free_name(&self) -> String {
        loop {
            let name = format!("session-{}", self.live.names.fetch_add(1, Relaxed) + 1);
            if !self.live.sessions.contains_key(&name) {
                return name;
            }
        }
    }
}

impl Default for SessionStore {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for SessionStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionStore").field("live", &self.live.sessions.len()).finish_non_exhaustive()
    }
}
