//! Names that plugins claim, all of a registration or none, each by one registration at a time.
//!
//! **Invariant:** nothing of a plugin runs or is dropped under the lock.

use std::sync::Arc;

use cordis::{Context, Effect, Inactive};
use parking_lot::Mutex;

/// What is registered under which name, in the order of the registrations.
pub(crate) struct Claims<E> {
    table: Mutex<Table<E>>,
}

struct Table<E> {
    claims: Vec<Claim<E>>,
    next_id: u64,
    is_closed: bool,
}

/// What one registration has.
struct Claim<E> {
    id: u64,
    owner: String,
    entries: Vec<(String, E)>,
}

/// Why names cannot be claimed.
#[derive(Debug)]
pub(crate) enum ClaimError {
    /// Somebody else has one.
    Taken {
        name: String,
        owner: String,
    },
    /// The registration has been taken back.
    Gone,
    /// The service is unloaded.
    Closed,
    Inactive(Inactive),
}

impl From<Inactive> for ClaimError {
    fn from(inactive: Inactive) -> Self {
        Self::Inactive(inactive)
    }
}

impl<E> Default for Claims<E> {
    fn default() -> Self {
        Self { table: Mutex::new(Table { claims: Vec::new(), next_id: 0, is_closed: false }) }
    }
}

impl<E: Clone + Send + 'static> Claims<E> {
    /// Claims names as long as the plugin of `ctx` lives. `gone` is called when they are free again.
    pub(crate) fn claim(
        self: &Arc<Self>,
        ctx: &Context,
        label: String,
        entries: Vec<(String, E)>,
        gone: impl FnOnce() + Send + 'static,
    ) -> Result<(u64, Effect), ClaimError> {
        let id = self.add(ctx.fiber().label(), entries)?;
        let claims = self.clone();
        let undo = ctx.effect(label, move || async move {
            if claims.remove(id) {
                gone();
            }
        });
        if undo.is_err() {
            self.remove(id);
        }
        Ok((id, undo?))
    }

    fn add(&self, owner: String, entries: Vec<(String, E)>) -> Result<u64, ClaimError> {
        let mut table = self.table.lock();
        if table.is_closed {
            return Err(ClaimError::Closed);
        }
        table.free(&entries, None)?;
        table.next_id += 1;
        let id = table.next_id;
        table.claims.push(Claim { id, owner, entries });
        Ok(id)
    }

    /// Claims other names in the place of those of a registration, in one step.
    pub(crate) fn replace(&self, id: u64, entries: Vec<(String, E)>) -> Result<(), ClaimError> {
        let mut table = self.table.lock();
        let Some(at) = table.claims.iter().position(|claim| claim.id == id) else {
            return Err(ClaimError::Gone);
        };
        table.free(&entries, Some(id))?;
        let old = std::mem::replace(&mut table.claims[at].entries, entries);
        drop(table);
        drop(old);
        Ok(())
    }

    /// Whether there was something to take out.
    fn remove(&self, id: u64) -> bool {
        let mut table = self.table.lock();
        let at = table.claims.iter().position(|claim| claim.id == id);
        let gone = at.map(|at| table.claims.remove(at));
        drop(table);
        gone.is_some()
    }

    /// Forgets everything, and takes nothing any more.
    pub(crate) fn close(&self) {
        let mut table = self.table.lock();
        table.is_closed = true;
        let gone = std::mem::take(&mut table.claims);
        drop(table);
        drop(gone);
    }

    /// What is registered under a name, and by which registration.
    pub(crate) fn get(&self, name: &str) -> Option<(u64, E)> {
        let table = self.table.lock();
        table.claims.iter().find_map(|claim| {
            let (_, entry) = claim.entries.iter().find(|(claimed, _)| claimed == name)?;
            Some((claim.id, entry.clone()))
        })
    }

    /// All that is registered, in order.
    pub(crate) fn entries(&self) -> Vec<(String, E)> {
        self.table.lock().claims.iter().flat_map(|claim| claim.entries.iter().cloned()).collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let table = self.table.lock();
        let names = table.claims.iter().flat_map(|claim| claim.entries.iter().map(|(name, _)| name.clone()));
        names.collect()
    }
}

impl<E> Table<E> {
    /// Whether nobody else has one of the names.
    fn free(&self, entries: &[(String, E)], own: Option<u64>) -> Result<(), ClaimError> {
        for claim in self.claims.iter().filter(|claim| Some(claim.id) != own) {
            let has = |name: &str| claim.entries.iter().any(|(claimed, _)| claimed == name);
            if let Some((name, _)) = entries.iter().find(|(name, _)| has(name)) {
                return Err(ClaimError::Taken { name: name.clone(), owner: claim.owner.clone() });
            }
        }
        Ok(())
    }
}
