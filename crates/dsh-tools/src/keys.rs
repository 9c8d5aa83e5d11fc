//! The names under which the crate meets others: one service and the events of a call.

use cordis::{Announce, Emit, Key, Waterfall};

use crate::call::ToolCall;
use crate::decision::{PostDecision, PreDecision};
use crate::outcome::ToolOutcome;
use crate::runtime::{ToolRuntime, ToolsChange};
use crate::settled::Settled;

/// The tools that agents can call, and the one path on which calls are executed.
pub const TOOLS: Key<ToolRuntime> = Key::new("tools");

/// Whether a call may go on: asked of every call whose arguments could be read, before guards and body.
///
/// Dispatched by [`ToolRuntime::execute`]; scope-filtered by the caller. A listener decides by what it returns:
/// `next` gives the decision of the rest, which is to allow. It cannot change the call, only
/// [`limit`](ToolCall::limited) it below. A denial is final: guards are not asked and the body does not run. A panic fails
/// the call. Cancellation is not watched here; a listener that waits for long watches [`ToolCall::cancellation`].
///
/// Source: event `tools/pre-execute`.
pub const PRE_EXECUTE: Waterfall<ToolCall, PreDecision> =
    Waterfall::new("tools/pre-execute").scoped_by(|call| call.scope());

/// The execution of a call that is allowed: `next` runs the body.
///
/// Dispatched by [`ToolRuntime::execute`]; scope-filtered by the caller. A listener can give another outcome, run the
/// body again (`next.clone()`), leave it out, or [`limit`](ToolCall::limited) the call; what it gets from `next`
/// is an outcome even if the body failed. Guards are asked again right before the body. A panic of a listener fails
/// the call. When the caller cancels, the body is told, and a success that comes later becomes `ABORTED`.
///
/// Source: event `tools/execute`.
pub const EXECUTE: Waterfall<ToolCall, ToolOutcome> =
    Waterfall::new("tools/execute").scoped_by(|call| call.scope());

/// What the model is told about a call, denied ones included; calls that failed before or in a listener skip it.
///
/// Dispatched by [`ToolRuntime::execute`]; scope-filtered by the caller. A listener can replace the text or block the
/// result. It cannot make a failure a success. A panic fails the call. A cancellation that comes meanwhile makes a
/// success `ABORTED`.
///
/// Source: event `tools/post-execute`.
pub const POST_EXECUTE: Waterfall<Settled, PostDecision> =
    Waterfall::new("tools/post-execute").scoped_by(|settled| settled.call().scope());

/// What came of a call: told exactly once for every call, whatever happened to it.
///
/// Dispatched by [`ToolRuntime::execute`] right before it returns; scope-filtered by the caller. Listeners watch and
/// change nothing; a panic of one is contained. Cancellation plays no part.
///
/// Source: event `tools/result`.
pub const RESULT: Emit<Settled> = Emit::new("tools/result").scoped_by(|settled| settled.call().scope());

/// A tool was registered or is gone.
///
/// Dispatched by the registry right after; of no scope, so only unscoped and global listeners hear it. A listener
/// that refuses a new tool has it taken back, and its error is the registration's; an error about a removal is
/// reported and changes nothing. Cancellation plays no part.
///
/// Source: event `tools/change`.
pub const CHANGE: Announce<ToolsChange> = Announce::new("tools/change");
