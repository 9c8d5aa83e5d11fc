//! Sessions on disk, one file of lines each, which the reference reads and writes as well.
//!
//! [`JsonlStorage`] is a [`Storage`](dsh_session::Storage): it knows files, and nothing of the sessions in memory. A root
//! holds `PROJECT/ID/session.jsonl.zstd`, or `session.jsonl` where compression is off, and never both kinds.
//!
//! Read `config`, `path` (where a session is), `frames` with `reader` (from bytes to events), `writer` with `repair` (from
//! events to bytes), `lock`, `lookup`, then `storage`, which puts them together. `disk` is the one seam to the file system.
//!
//! **Architecture Invariant:** bytes that were acknowledged are never written again in their place. A batch is added behind
//! them, or a new file with all of them takes the place of the old one in one step.
//!
//! **Architecture Invariant:** what is stored is not brought up to date. Old shapes are read as what became of them
//! (`legacy`), and stay on disk as they are.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_session::{CreateSession, NewEvent, PERSISTENCE, SESSIONS, TurnStart};
//! use dsh_session_jsonl::Config;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! let app = App::new()?;
//! app.plugin(dsh_session::plugin(), ())?;
//! app.plugin(dsh_session_jsonl::plugin(), Config::new(root))?.ready().await?;
//! let session = app.get(SESSIONS).ok_or("no sessions")?.get()?.create(&app, CreateSession::default())?;
//! session.append(NewEvent::new(&TurnStart { turn: 1 })?)?; // written soon; what is not, is when the plugin is unloaded
//! app.shutdown().await;
//!
//! let app = App::new()?;
//! app.plugin(dsh_session::plugin(), ())?;
//! app.plugin(dsh_session_jsonl::plugin(), Config::new(root))?.ready().await?;
//! let stored = app.get(PERSISTENCE).ok_or("nothing is stored")?;
//! assert_eq!(stored.get()?.list().await?.len(), 1);
//! # Ok(())
//! # }
//! ```

mod config;
pub mod disk;
mod frames;
mod legacy;
mod lock;
mod lookup;
mod path;
mod plugin;
mod reader;
mod repair;
mod revision;
mod storage;
mod writer;

pub use config::{Compression, Config, Fsync};
pub use path::{PathError, project_folder, session_folder};
pub use plugin::plugin;
pub use reader::{Decoded, Torn, Unpacked, decode, unpack};
pub use storage::JsonlStorage;

cordis::catalog!(plugin);
