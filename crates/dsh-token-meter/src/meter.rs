//! The service: one fold per session, brought up to date when it is asked for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use dsh_session::{EpochHeader, Session};
use parking_lot::Mutex;

use crate::fold::{Fold, MeterError};
use crate::measurement::Measurement;

/// How many sessions are kept at least before it is looked which of them are gone.
const FEW: usize = 64;

/// How many tokens sessions take. A session is read from its beginning the first time, and from where it was then on.
///
/// # Examples
/// ```
/// use dsh_session::Session;
/// use dsh_token_meter::TokenMeter;
///
/// let meter = TokenMeter::default();
/// assert_eq!(meter.measure(&Session::detached("s-1"), None)?.total_tokens, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct TokenMeter {
    folds: DashMap<String, Kept>,
    /// With how many sessions it is looked next which are gone: those of no store leave without a word.
    look_at: AtomicUsize,
}

#[derive(Clone, Debug)]
struct Kept {
    session: Weak<Session>,
    fold: Arc<Mutex<Fold>>,
}

impl TokenMeter {
    /// What the session takes now, for a request with this header; without one, with the latest of the log.
    ///
    /// # Errors
    /// The first event that cannot be measured, every time until the log is another one.
    pub fn measure(
        &self,
        session: &Arc<Session>,
        header: Option<&EpochHeader>,
    ) -> Result<Measurement, MeterError> {
        let fold = self.fold(session);
        let mut fold = fold.lock();
        // Taken in here: who waited for the lock would bring an older list.
        fold.catch_up(&session.events())?;
        Ok(fold.measurement(header))
    }

    /// Lets go what is kept of a session.
    pub(crate) fn forget(&self, session: &Arc<Session>) {
        let gone = self.folds.remove_if(session.id(), |_, kept| is_of(kept, session));
        drop(gone);
    }

    fn fold(&self, session: &Arc<Session>) -> Arc<Mutex<Fold>> {
        if let Some(kept) = self.folds.get(session.id()).filter(|kept| is_of(kept, session)) {
            return kept.fold.clone();
        }
        self.sweep();
        let new = || Kept { session: Arc::downgrade(session), fold: Arc::default() };
        let mut kept = self.folds.entry(session.id().to_owned()).or_insert_with(new);
        if !is_of(&kept, session) {
            // Another session of the same id, which is gone or will be.
            *kept = new();
        }
        kept.fold.clone()
    }

    fn sweep(&self) {
        if self.folds.len() < self.look_at.load(Ordering::Relaxed).max(FEW) {
            return;
        }
        self.folds.retain(|_, kept| kept.session.strong_count() > 0);
        self.look_at.store(self.folds.len().saturating_mul(2), Ordering::Relaxed);
    }
}

fn is_of(kept: &Kept, session: &Arc<Session>) -> bool {
    std::ptr::eq(kept.session.as_ptr(), Arc::as_ptr(session))
}
