//! For whom a prompt is assembled, and in which request.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

use cordis::ScopeKey;
use tokio_util::sync::CancellationToken;

/// Somebody a prompt can be for: an agent.
#[diagnostic::on_unimplemented(
    message = "no prompt can be assembled for `{Self}`",
    label = "does not implement `dsh_prompt::Subject`",
    note = "implement `Subject` and name the scope whose registrations it sees"
)]
pub trait Subject: Send + Sync + 'static {
    /// The scope whose registrations it sees.
    fn scope_key(&self) -> &ScopeKey;
}

/// For whom a prompt is assembled, and in which request; cheap to clone.
///
/// Every provider and listener of one assembly is lent the same one. Where there is a subject, the scope is the subject's.
///
/// Source: `AssembleContext` and `assembleContextFor`.
#[derive(Clone, Default)]
pub struct AssembleContext {
    scope: Option<ScopeKey>,
    cancellation: CancellationToken,
    subject: Option<Value>,
    values: Vec<Value>,
}

#[derive(Clone)]
struct Value {
    type_name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl AssembleContext {
    /// For nobody: only what is registered globally is seen.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For a scope without a subject.
    #[must_use]
    pub fn scoped(scope: &ScopeKey) -> Self {
        Self { scope: Some(scope.clone()), ..Self::default() }
    }

    /// For an agent, and so for its scope.
    #[must_use]
    pub fn of<S: Subject>(subject: Arc<S>) -> Self {
        let scope = Some(subject.scope_key().clone());
        let subject = Some(Value { type_name: type_name::<S>(), value: subject });
        Self { scope, subject, ..Self::default() }
    }

    /// Part of a request that this token cancels.
    #[must_use]
    pub fn cancelled_by(self, cancellation: CancellationToken) -> Self {
        Self { cancellation, ..self }
    }

    /// Carries a value for those providers and listeners that know its type; one of a type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.values.retain(|held| !held.value.is::<T>());
        self.values.push(Value { type_name: type_name::<T>(), value: Arc::new(value) });
        self
    }

    /// The scope whose registrations are seen besides the global ones, with those of its ancestors.
    #[must_use]
    pub fn scope(&self) -> Option<&ScopeKey> {
        self.scope.as_ref()
    }

    /// Cancelled when the request is. It belongs to this one request: nobody keeps it.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Whom it is for; none if it is for nobody, or for somebody of another type.
    #[must_use]
    pub fn subject<S: Subject>(&self) -> Option<Arc<S>> {
        self.subject.as_ref().and_then(|subject| subject.value.clone().downcast().ok())
    }

    /// The value of this type that it carries.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.values.iter().find_map(|held| held.value.downcast_ref())
    }
}

impl fmt::Debug for AssembleContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.values.iter().map(|held| held.type_name).collect();
        f.debug_struct("AssembleContext")
            .field("scope", &self.scope)
            .field("cancelled", &self.cancellation.is_cancelled())
            .field("subject", &self.subject.as_ref().map(|subject| subject.type_name))
            .field("values", &names)
            .finish()
    }
}
