//! The id of all that happens because of one call.

use std::fmt;
use std::num::NonZeroU128;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use thiserror::Error;
use uuid::Uuid;

/// The id of all that happens because of one call: a `trace-id` of W3C Trace Context, written as 32 lower-case hexadecimal
/// digits that are not all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(NonZeroU128);

/// A text that is no trace id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a trace id has 32 hexadecimal digits in lower case, not all of them zero")]
pub struct InvalidTraceId;

impl TraceId {
    /// A new one, at random.
    #[must_use]
    pub fn random() -> Self {
        // A random UUID has bits that are set, so it is never zero.
        Self(NonZeroU128::new(Uuid::new_v4().as_u128()).unwrap_or(NonZeroU128::MIN))
    }

    /// The id as a number.
    #[must_use]
    pub fn get(self) -> NonZeroU128 {
        self.0
    }
}

impl FromStr for TraceId {
    type Err = InvalidTraceId;

    fn from_str(text: &str) -> Result<Self, InvalidTraceId> {
        let is_written_well =
            text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_written_well);
        number.and_then(NonZeroU128::new).map(Self).ok_or(InvalidTraceId)
    }
}

impl From<NonZeroU128> for TraceId {
    fn from(number: NonZeroU128) -> Self {
        Self(number)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceId({self})")
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
