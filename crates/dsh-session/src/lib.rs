//! Sessions: the append-only log of an agent, the conversation that it makes, and who hears of it.
//!
//! A [`Session`] is a log in memory. What a model could see is in it, and the conversation that the model does see is
//! derived from it. The [`SessionStore`] holds the live ones; stores on disk listen to its events. The crate is pure: it
//! opens no file.
//!
//! Read `event` with `payload` and `data` (what happened), `surface` and `fold` (the conversation), `turn` (which one is
//! open), `new_event` with `lossless` and `finite` (what may be added), `session` with `seed` (where it is added), `store` and
//! `fork`, then `closers` and `calls`; `storage` and `persistence` (how sessions become durable); `log`, `header`, `line`,
//! `packed`, `pack`, `checkup` and `stored` are the format of files; `rules` (what checkers of logs share).
//!
//! **Architecture Invariant:** events keep their data as the text that they came with, so what is read is written again byte
//! for byte. A reader that does not know an event type refuses the whole log, unless the event says that it can be
//! skipped: no part of a conversation is ever dropped in silence.
//!
//! **Architecture Invariant:** nothing that is in a log changes. Events and messages are shared behind `Arc`; a list of them
//! is a snapshot.
//!
//! # Examples
//! ```
//! use std::sync::Arc;
//!
//! use cordis::App;
//! use dsh_llm::{ContentBlock, Message};
//! use dsh_session::{CreateSession, EVENT, NewEvent, SESSIONS, SessionEvent, StepStart, TurnStart};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let app = App::new()?;
//! app.plugin(dsh_session::plugin(), ())?.ready().await?;
//! app.on(EVENT).run(|it: &SessionEvent| println!("{} {}", it.event.seq(), it.event.kind()))?;
//!
//! let sessions = app.get(SESSIONS).ok_or("no sessions")?;
//! let session = sessions.get()?.create(&app, CreateSession::default())?;
//! session.append(NewEvent::new(&TurnStart { turn: 1 })?)?; // 0 turn/start
//! session.append(NewEvent::new(&StepStart { turn: 1, step: 1 })?)?; // 1 step/start
//! let hello = Message::user(vec![ContentBlock::text("hello")]);
//! session.append(NewEvent::user(Arc::new(hello))?)?; // 2 user/message
//! assert_eq!(session.len(), 3);
//! assert_eq!(session.messages().iter().map(|message| message.text()).collect::<Vec<_>>(), ["hello"]);
//! # Ok(())
//! # }
//! ```

mod calls;
mod checkup;
mod closers;
mod data;
mod error;
mod event;
mod events;
mod finite;
mod fold;
mod fork;
mod header;
mod json;
pub mod keys;
mod line;
mod list;
mod log;
mod lossless;
mod new_event;
mod pack;
mod packed;
mod payload;
mod persistence;
mod plugin;
mod rules;
mod run;
mod seed;
mod session;
mod storage;
mod store;
mod stored;
mod surface;
mod text;
mod turn;
mod vocabulary;

pub use calls::{LoggedCall, tool_calls};
pub use checkup::{Checkup, Verdict};
pub use closers::closers;
pub use data::EventData;
pub use error::{AppendError, BadData, BadHeader, NotLossless, Problem, ReadError, SeedError, SurfaceError};
pub use event::Event;
pub use events::{Events, Iter};
pub use fold::derive_messages;
pub use fork::{ForkError, prefix as fork_prefix};
pub use header::{FORMAT_VERSION, Origin, SessionHeader};
#[doc(hidden)]
pub use inventory;
pub use keys::{APPENDING, CREATED, DISPOSED, EVENT, FLUSH, PERSISTENCE, SESSIONS};
pub use list::List;
pub use log::{SessionLog, TornTail};
pub use new_event::NewEvent;
pub use pack::{PackedRun, Row, rows};
pub use payload::{
    AssistantChunk, AssistantMessage, CancelCause, EndSeed, EpochHeader, ErrorInfo, HeaderReason,
    InboxSpliced, InboxTarget, Payload, RequestContext, RequestHeader, StepEnd, StepStart, Todo, TodoStatus,
    TodoWrite, ToolCall, ToolResult, TurnEnd, TurnEndReason, TurnStart,
};
pub use persistence::{PersistError, Preparation, SessionPersistence, StoredSession, WriteOptions, persist};
pub use plugin::plugin;
pub use rules::{LogProgress, check_rules, enforce_rules};
pub use seed::Seed;
pub use session::{Appending, Session, SessionEvent};
pub use storage::{Listed, Location, Opened, RawLog, Storage, StorageError, Stored, Writer};
pub use store::{CreateError, CreateSession, FlushError, SessionStore};
pub use stored::{EventParts, event_from_parts, unpack_row};
pub use surface::{Plan, Replacement, Surface, SurfaceOp, is_surface_type};
pub use text::JsonText;
pub use turn::OpenTurn;
#[doc(hidden)]
pub use vocabulary::EventType;
pub use vocabulary::is_known;

cordis::catalog!(plugin);
