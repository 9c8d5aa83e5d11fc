//! A model server for tests: it speaks the protocol of chat completions on a raw socket, and does whatever its script says, the
//! wrong things too.
//!
//! A script is JSON: `{"steps": [STEP, …]}`. The first request that offers tools gets the first step, the second the second one,
//! and the last step repeats. A request without tools, such as for a title, gets a short text, unless the next step says `"for": "any"`.
//! What a step may say is in [`Step`]. `dsh-testkit serve SCRIPT` starts a server by hand.
//!
//! ```
//! use dsh_testkit::{MockServer, Script};
//!
//! let script = r#"{ "steps": [{ "text": "Hello!" }, { "text": "cut", "cut": { "at": 40, "how": "reset" } }] }"#;
//! let server = MockServer::start(Script::parse(script)?)?;
//! println!("DEEPSEEK_BASE_URL={}", server.base_url());
//! assert!(server.requests().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Read `script` (what can be asked for), `answer` (the bytes that come of it), `request` (what is read), then `server`.
//!
//! **Architecture Invariant:** no HTTP library. The faults are in the bytes and in the socket, below what a library would let
//! through.

mod answer;
mod request;
mod script;
mod server;

pub use request::Request;
pub use script::{Call, Cut, Done, Drip, Encoding, Expect, For, How, LineEnd, Script, ScriptError, Step};
pub use server::MockServer;
