//! What is folded: a unit, and its erased twin.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use dsh_session::Event;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Folds the events of a log into a state.
///
/// # Examples
/// ```
/// use dsh_session::Event;
/// use dsh_session_projection::Unit;
///
/// struct TurnCount;
///
/// impl Unit for TurnCount {
///     const KEY: &'static str = "turnCount";
///     const STATE_VERSION: u32 = 0;
///     type State = u64;
///     type View = u64;
///
///     fn init(&self) -> u64 {
///         0
///     }
///
///     fn apply(&self, turns: &u64, event: &Event) -> Option<u64> {
///         (event.kind() == "turn/start").then(|| turns + 1)
///     }
///
///     fn view(&self, turns: &u64) -> Option<u64> {
///         Some(*turns)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` folds no events",
    note = "implement `dsh_session_projection::Unit` for it"
)]
pub trait Unit: Send + Sync + 'static {
    /// The unit's name, as clients and rows have it.
    const KEY: &'static str;

    /// Raised when states of before cannot be read, or would be others, any more.
    const STATE_VERSION: u32;

    /// What is known after some events. It is written as JSON when it is set aside.
    type State: Serialize + DeserializeOwned + Clone + PartialEq + Send + Sync + 'static;

    /// What clients see of it; `()` for a unit that shows nothing.
    type View: Serialize;

    /// What is known before the first event.
    fn init(&self) -> Self::State;

    /// The state after one more event; none if the event changes nothing. Depends on its arguments alone.
    fn apply(&self, state: &Self::State, event: &Event) -> Option<Self::State>;

    /// What clients see. A unit that is for the host alone, which is the default, shows none of its states.
    fn view(&self, state: &Self::State) -> Option<Self::View> {
        let _ = state;
        None
    }
}

/// A state whose type only its unit knows.
pub(crate) type AnyState = Arc<dyn Any + Send + Sync>;

/// Why a unit gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnitError {
    #[error("panicked: {0}")]
    Panicked(String),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("the state is one of another unit")]
    Foreign,
}

/// [`Unit`] with its state untyped and its panics contained.
pub(crate) trait ErasedUnit: Send + Sync {
    fn key(&self) -> &'static str;
    fn version(&self) -> u32;
    fn init(&self) -> Result<AnyState, UnitError>;
    fn apply(&self, state: &AnyState, event: &Event) -> Result<Option<AnyState>, UnitError>;
    fn view(&self, state: &AnyState) -> Result<Option<Value>, UnitError>;
    fn save(&self, state: &AnyState) -> Result<Value, UnitError>;
    fn load(&self, value: &Value) -> Result<AnyState, UnitError>;
}

pub(crate) struct Typed<U>(pub(crate) U);

impl<U: Unit> ErasedUnit for Typed<U> {
    fn key(&self) -> &'static str {
        U::KEY
    }

    fn version(&self) -> u32 {
        U::STATE_VERSION
    }

    fn init(&self) -> Result<AnyState, UnitError> {
        contained(|| Ok(Arc::new(self.0.init()) as AnyState))
    }

    fn apply(&self, state: &AnyState, event: &Event) -> Result<Option<AnyState>, UnitError> {
        let state = typed::<U>(state)?;
        contained(|| {
            let new = self.0.apply(state, event).filter(|new| new != state);
            Ok(new.map(|new| Arc::new(new) as AnyState))
        })
    }

    fn view(&self, state: &AnyState) -> Result<Option<Value>, UnitError> {
        let state = typed::<U>(state)?;
        contained(|| Ok(self.0.view(state).map(serde_json::to_value).transpose()?))
    }

    fn save(&self, state: &AnyState) -> Result<Value, UnitError> {
        let state = typed::<U>(state)?;
        contained(|| Ok(serde_json::to_value(state)?))
    }

    fn load(&self, value: &Value) -> Result<AnyState, UnitError> {
        contained(|| {
            use serde::Deserialize as _;
            Ok(Arc::new(U::State::deserialize(value)?) as AnyState)
        })
    }
}

fn typed<U: Unit>(state: &AnyState) -> Result<&U::State, UnitError> {
    state.downcast_ref().ok_or(UnitError::Foreign)
}

fn contained<T>(code: impl FnOnce() -> Result<T, UnitError>) -> Result<T, UnitError> {
    catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(UnitError::Panicked(text.unwrap_or("no text").to_owned()))
    })
}
