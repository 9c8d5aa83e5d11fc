//! The names under which the crate meets others: the service, and the events of calls and adapters.

use cordis::{Emit, Key, Waterfall};

use crate::llm::Llm;
use crate::model_call::{ModelCall, Outcome};

/// Where models are asked, and where adapters are registered.
pub const LLM: Key<Llm> = Key::new("llm");

/// A model is asked.
///
/// Dispatched by [`Llm::stream`] and [`PreparedCall::stream`](crate::PreparedCall::stream) once per call, by the first read of the
/// stream; unscoped. The dispatch lasts as long as the answer: `next` returns when the answer below is over, and its pieces go to
/// [`ModelCall::out`] meanwhile. A listener may change the request (another provider reroutes it), read the pieces below and hand on
/// others ([`ModelCall::below`]), run `next.clone()` again for a retry, or answer by itself. The innermost step asks the adapter,
/// whose failure becomes the finish of the answer. What a listener returns as an error, and its panic, end the stream with
/// that error. Cancellation of the request ends the adapter's work with a finish `aborted`; listeners are not dropped by it, but
/// they are when nobody reads the stream any more. Unloading a listener's plugin waits for the answers that pass through it,
/// within the limit of any teardown.
///
/// Source: event `llm/stream`.
pub const STREAM: Waterfall<ModelCall, Outcome> = Waterfall::new("llm/stream");

/// Adapters, or providers that can be set up, have come, gone or been replaced.
///
/// Dispatched once after each change, which listeners can see already; unscoped. Listeners watch and change nothing that has
/// happened; a panic of one is contained. Cancellation plays no part.
///
/// Source: event `llm/adapters-updated`.
pub const ADAPTERS_UPDATED: Emit<()> = Emit::new("llm/adapters-updated");
