//! Child processes: what is started, how it is stopped, and what is kept of its output.
//!
//! A [`Subprocess`] starts programs, each in a process group of its own, and answers for what they start. A program that runs
//! ends with its group when its caller lets go of it. What a program that has ended by itself leaves behind runs on until the
//! provider is unloaded. When the host dies, all of it is killed. The crate is pure: a provider starts the processes.
//!
//! Read `keys`, `spawn` (what is asked for), `process` (what is given), then `output` (what is kept of a stream) with
//! `text` and `cursor` (how bytes become text).
//!
//! **Architecture Invariant:** memory is bounded by what the caller asked for. Of a longer stream its beginning and its end
//! are kept, and how much was dropped between them is counted, never guessed.
//!
//! **Architecture Invariant:** how a process ended is told by independent facts: its exit code, or the signal that killed it,
//! and apart from both whether it was told to end.

mod cursor;
mod error;
mod keys;
mod output;
mod process;
mod spawn;
#[cfg(feature = "testing")]
pub mod testing;
mod text;

pub use cursor::TextCursor;
pub use error::{ResolveError, SpawnError, WaitError};
pub use keys::SUBPROCESS;
pub use output::{Cut, Delta, OutputBuffer};
pub use process::{Collected, Control, Exit, Process, Reader, Spill, Stream, Subprocess, Writer};
pub use spawn::{Collect, Environment, MAX_GRACE, Output, SpawnSpec, Stdin, Watch};
pub use text::Decoder;
