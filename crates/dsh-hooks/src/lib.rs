//! Hooks: what programs of the user say about what an agent does, and how it is read.
//!
//! A hook is a command line of a configuration that another agent's users wrote: it is given what is about to happen as
//! JSON, and answers with its exit code and what it prints. The crate is the protocol that two dialects share.
//!
//! Read `point` and `dialect` with `matcher` (when a hook runs), `handler` (one hook of a configuration), `run` with
//! `ending` (how it runs), `output` with `said` and `decode` (what it answered), `merge` (what all of them come to), `record` (what the log
//! holds of it), `keys` with `ran` (who watches), then `detached` (hooks that nobody waits for) and `bridge` (who runs hooks, and does what they say).
//!
//! **Architecture Invariant:** a hook never fails the one who asks. Whatever goes wrong with its process or its text is an
//! answer without a decision, with the reason in its errors.

pub mod bridge;
mod decode;
mod detached;
mod dialect;
mod ending;
mod handler;
mod keys;
mod matcher;
mod merge;
mod output;
mod point;
mod ran;
mod record;
mod run;
mod said;
#[cfg(feature = "testing")]
pub mod testing;
mod text;

pub use decode::decode;
pub use dialect::Dialect;
pub use ending::Ending;
pub use handler::Handler;
pub use keys::RAN;
pub use matcher::{InvalidMatcher, Matcher};
pub use merge::{Merged, merge};
pub use output::{HookOutput, Stop};
pub use point::Point;
pub use ran::HookRan;
pub use record::{HookInvoked, HookResult, Recorded};
pub use run::{DEFAULT_TIMEOUT, HookRun};
pub use said::{Decision, Said};
