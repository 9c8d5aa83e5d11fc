//! What travels with a call for policies and bodies, and never reaches the model.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;

/// Values that travel with a call, one of each type: who calls, a trace id, a clock. Cheap to clone; clones share.
///
/// The model sees none of it: it is neither in the arguments nor in the log.
///
/// # Examples
/// ```
/// use dsh_tools::{Caller, RunContext};
///
/// let context = RunContext::default();
/// context.insert(Caller { id: "u1".into(), name: "Ada".into(), role: "reader".into() });
/// assert_eq!(context.get::<Caller>().unwrap().role, "reader");
/// ```
#[derive(Clone, Default)]
pub struct RunContext(Arc<Mutex<Values>>);

/// The values by type. They are users', and may panic when they are dropped.
#[derive(Clone, Default)]
struct Values(BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Drop for Values {
    fn drop(&mut self) {
        while let Some((_, value)) = self.0.pop_first() {
            drop_contained(value);
        }
    }
}

/// A value whose drop panics does so alone.
fn drop_contained(value: Arc<dyn Any + Send + Sync>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        tracing::error!("a value that travelled with a tool call panicked when it was dropped");
        // Whatever it is, its own drop may panic too.
        std::mem::forget(payload);
    }
}

impl RunContext {
    /// Puts a value in, in the place of one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&self, value: T) {
        let value: Arc<dyn Any + Send + Sync> = Arc::new(value);
        let old = self.0.lock().0.insert(TypeId::of::<T>(), value);
        // A user's value is dropped outside of the lock.
        if let Some(old) = old {
            drop_contained(old);
        }
    }

    /// The value of this type, if there is one.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.0.lock().0.get(&TypeId::of::<T>()).cloned();
        value?.downcast().ok()
    }

    /// The same values, in a place that no clone shares.
    pub(crate) fn unshared(self) -> Self {
        match Arc::strong_count(&self.0) {
            1 => self,
            _ => self.over(&Self::default()),
        }
    }

    /// The values of both, in a place of their own; of two of one type this one's.
    pub(crate) fn over(&self, below: &Self) -> Self {
        let mut values = below.0.lock().clone();
        let own = self.0.lock().clone();
        values.0.extend(own.0.iter().map(|(id, value)| (*id, Arc::clone(value))));
        Self(Arc::new(Mutex::new(values)))
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunContext({} values)", self.0.lock().0.len())
    }
}

/// Who stands behind a call: put into its [`RunContext`] by whoever makes the call, or by a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The caller's id.
    pub id: String,
    /// The caller's name, for people.
    pub name: String,
    /// The caller's role, by which policies decide.
    pub role: String,
}
