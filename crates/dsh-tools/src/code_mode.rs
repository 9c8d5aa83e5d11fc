//! Code mode: one tool, `run_code`, through whose programs a model reaches the others.
//!
//! Read `seam` and `namespace` (what a program is given and gives), `identifier`, then `transport` (the tool) with `rendering`
//! and `flavour`.
//!
//! **Architecture Invariant:** a program reaches tools only through a [`Lane`](crate::Lane), so whatever a runtime does, its
//! calls are judged like any others.

mod flavour;
mod identifier;
mod namespace;
mod rendering;
mod seam;
mod transport;

pub(crate) use flavour::Flavour;
pub use flavour::PresentationError;
pub use identifier::{is_reserved_error_member, is_reserved_global, is_usable_identifier};
pub use namespace::{BindingError, BindingFailure, BindingFuture, ErrorClass, Namespace};
pub use seam::{CodeFailure, CodeFailureKind, CodeOutcome, CodeRequest, CodeRuntime};
pub(crate) use transport::Transport;
