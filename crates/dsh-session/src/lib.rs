//! The session log of an agent: what a line may hold, and a reader that takes the bytes of a log and gives its
//! events.
//!
//! The crate is pure: it opens no file. A line is parsed once, at the border; what [`SessionLog::parse`] gives back
//! can be trusted. Only `tool/call` and `tool/result` are typed so far, every other event keeps its data as JSON
//! text. Read `log`, then `header` and `line` (with `packed`), then `event`, `tool` and `calls`.
//!
//! **Architecture Invariant:** a reader that does not know an event type refuses the whole log, unless the event says
//! that it can be skipped. So no part of a conversation is ever dropped in silence.

mod calls;
mod error;
mod event;
mod header;
mod json;
mod line;
mod log;
mod packed;
mod tool;
mod vocabulary;

pub use calls::LoggedCall;
pub use error::{Problem, ReadError};
pub use event::{Event, EventData, SurfaceOp};
pub use header::{FORMAT_VERSION, Origin, SessionHeader};
pub use log::{SessionLog, TornTail};
pub use tool::{ContentBlock, ErrorInfo, ToolCall, ToolResult};
pub use vocabulary::is_known;
