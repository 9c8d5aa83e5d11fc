//! A model that answers from a script or a recorded session: deterministic, and without any network.
//!
//! Two kinds of files can be played. A *script* is JSON, `{"steps": [{"text": "…", "calls": […]}]}`: every session is given its steps
//! from the first one on, and the last one repeats. A *recording* is the log of a session, line by line: each call of a model that is
//! in it is answered as it was, once, and a session that calls more often is told so. Without a file the [embedded script](EMBEDDED)
//! is played, as model `scripted` of provider `scripted`.
//!
//! Read `config`, `entry` (what one answer is), `steps` and `recording` (where answers come from), `overrides` and `placeholder`
//! (what changes them), then `replay` (who is given which), `play` and `adapter` (how they are told).
//!
//! **Architecture Invariant:** what is played depends on the files, the requests and their order only. Time can only end a search
//! of a placeholder, with an error.

mod adapter;
mod config;
mod entry;
mod error;
mod file;
pub mod keys;
mod overrides;
mod placeholder;
mod play;
mod plugin;
mod recording;
mod replay;
mod steps;

pub use config::{Config, ModelConfig, ProviderConfig};
pub use error::{ConfigError, LoadError};
pub use keys::REPLAY;
pub use plugin::plugin;
pub use replay::{Leftover, Replay};
pub use steps::EMBEDDED;
