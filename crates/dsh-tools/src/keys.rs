//! The names under which the crate meets others: one service and the events of a call.

use cordis::{Announce, Emit, Key, Waterfall};
use dsh_llm::ContentBlock;

use crate::call::ToolCall;
use crate::code_mode::CodeRuntime;
use crate::decision::{PostDecision, PreDecision};
use crate::nested::CodeDispatchLog;
use crate::outcome::ToolOutcome;
use crate::run::ToolOutput;
use crate::runtime::{ToolRuntime, ToolsChange};
use crate::settled::Settled;

/// The tools that agents can call, and the one path on which calls are executed.
pub const TOOLS: Key<ToolRuntime> = Key::new("tools");

/// What runs the programs of `run_code`. Looked for when tools are presented and when a program is to be run.
///
/// Source: service `codeRuntime`.
pub const CODE_RUNTIME: Key<dyn CodeRuntime> = Key::new("codeRuntime");

/// Whether a call may go on: asked of every call whose arguments could be read, before approval, guards and body.
///
/// Dispatched by [`ToolRuntime::execute`]; scope-filtered by the caller. A listener decides by what it returns: `next` gives
/// the decision of the rest, which is to allow. It cannot change the call, may add to its
/// [`RunContext`](crate::RunContext), and may have it judged anew with other arguments
/// ([`PreDecision::Replace`]), in a dispatch of its own, at most 8 times a call. What the outermost listener
/// returns counts: once that is a denial, guards are not asked and the body does not run. Only guards cannot be overruled. A panic fails the
/// call, and [`POST_EXECUTE`] is skipped. Cancellation is not watched here; a listener that waits for long watches
/// [`ToolCall::cancellation`].
///
/// Source: event `tools/pre-execute`.
pub const PRE_EXECUTE: Waterfall<ToolCall, PreDecision> =
    Waterfall::new("tools/pre-execute").scoped_by(|call| call.scope());

/// The execution of a call that is allowed: `next` runs the body.
///
/// Dispatched by [`ToolRuntime::execute`]; scope-filtered by the caller. A listener can give another outcome, run the body
/// again (`next.clone()`), leave it out, or hand on a [`limited`](ToolCall::limited) call; what it gets from `next` is an
/// outcome even if the body failed. An outcome that it made or altered is read again: a success is its value, which the
/// tool checks and renders. Guards are asked again before a second run of the body. A panic of a listener fails the call,
/// and [`POST_EXECUTE`] is skipped. When the caller cancels, the body is told, and a success that comes later becomes
/// `ABORTED`.
///
/// Source: event `tools/execute`.
pub const EXECUTE: Waterfall<ToolCall, ToolOutcome> =
    Waterfall::new("tools/execute").scoped_by(|call| call.scope());

/// What the model is told about a call, denied ones included; calls that broke before or in a listener skip it.
///
/// Dispatched by [`ToolRuntime::execute`]; scope-filtered by the caller. A listener can replace the content, or the value of
/// a success, can block the result, and add messages to the conversation. It cannot make a failure a success. A panic fails
/// the call. A cancellation that comes meanwhile makes a success `ABORTED`.
///
/// Source: event `tools/post-execute`.
pub const POST_EXECUTE: Waterfall<Settled, PostDecision> =
    Waterfall::new("tools/post-execute").scoped_by(|settled| settled.call().scope());

/// A body wrote a piece of output while it ran; see [`ToolRun::write`](crate::ToolRun::write).
///
/// Dispatched at once, on the body's stack; scope-filtered by the caller. Listeners watch and change nothing; a panic of one
/// is contained. Cancellation plays no part: what is written after it is told too.
///
/// Source: ours; the reference's bodies are silent until they end.
pub const OUTPUT: Emit<ToolOutput> = Emit::new("tools/output").scoped_by(|output| output.call().scope());

/// What came of a call: told exactly once for every call, whatever happened to it, unless the future that executes it is
/// dropped. Calls of a batch that had not begun when it was cancelled are results in its log and are not told.
///
/// Dispatched by [`ToolRuntime::execute`] right before it returns; scope-filtered by the caller. Listeners watch and
/// change nothing; a panic of one is contained. Cancellation plays no part.
///
/// Source: event `tools/result`.
pub const RESULT: Emit<Settled> = Emit::new("tools/result").scoped_by(|settled| settled.call().scope());

/// A tool, a restriction or a presentation was registered or is gone; guards are not told.
///
/// Dispatched by the registry right after; of no scope, so only unscoped and global listeners hear it. A listener
/// that refuses what came has it taken back, and its error is the registration's; of the taking back it is told too. An
/// error about a removal is reported and changes nothing. Cancellation plays no part.
///
/// Source: event `tools/change`.
pub const CHANGE: Announce<ToolsChange> = Announce::new("tools/change");

/// What the log keeps of a nested call that came to its end: `next` gives the whole content.
///
/// Dispatched by a [`Lane`](crate::Lane) for calls of agents, after the program was given the result; scope-filtered by
/// the caller. What a listener returns is logged in place of the content, and neither the program nor the model sees it. A
/// panic is reported, and the content is logged as it is. Cancellation plays no part: the outer call ends after this has.
///
/// Source: event `tools/code-dispatch-log`.
pub const CODE_DISPATCH_LOG: Waterfall<CodeDispatchLog, Vec<ContentBlock>> =
    Waterfall::new("tools/code-dispatch-log").scoped_by(|log| log.call().scope());
