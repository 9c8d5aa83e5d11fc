//! The live sessions by the scope that they belong to: whose session a call is part of, however many other agents there are.

use std::sync::Arc;

use cordis::ScopeKey;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use dsh_session::Session;

/// Sessions that belong to no scope are not in it: no call can be told to be theirs.
#[derive(Default)]
pub(crate) struct SessionsByScope {
    owned: DashMap<ScopeKey, Vec<Arc<Session>>>,
}

impl SessionsByScope {
    /// The sessions of the scope, or else of the nearest one above it that has any.
    pub(crate) fn of(&self, scope: &ScopeKey) -> Vec<Arc<Session>> {
        let owned = |scope: ScopeKey| Some(self.owned.get(&scope)?.clone());
        std::iter::successors(Some(scope.clone()), ScopeKey::parent).find_map(owned).unwrap_or_default()
    }

    /// Adds a session, once.
    pub(crate) fn add(&self, session: &Arc<Session>) {
        let Some(owner) = session.owner() else { return };
        let mut sessions = self.owned.entry(owner.clone()).or_default();
        if !sessions.iter().any(|other| Arc::ptr_eq(other, session)) {
            sessions.push(session.clone());
        }
    }

    pub(crate) fn remove(&self, session: &Arc<Session>) {
        let Some(owner) = session.owner() else { return };
        let Entry::Occupied(mut entry) = self.owned.entry(owner.clone()) else { return };
        let sessions = entry.get_mut();
        sessions.retain(|other| !Arc::ptr_eq(other, session));
        if sessions.is_empty() {
            entry.remove();
        }
    }
}
