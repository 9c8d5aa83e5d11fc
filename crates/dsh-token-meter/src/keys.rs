//! The name under which the crate meets others.

use cordis::Key;

use crate::meter::TokenMeter;

/// How many tokens sessions take.
pub const TOKEN_METER: Key<TokenMeter> = Key::new("tokenMeter");
