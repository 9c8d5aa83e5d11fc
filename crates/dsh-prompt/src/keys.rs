//! The names under which the crate meets others: the service, its changes and the assembly of one prompt.

use cordis::{Announce, BoxError, Key, Waterfall};

use crate::assembly::{Assembling, PromptAssembly};
use crate::prompt::{PromptChange, SystemPrompt};

/// What agents are told before the conversation.
pub const SYSTEM_PROMPT: Key<SystemPrompt> = Key::new("systemPrompt");

/// A section, context, variable, provider of tools or suppressor was registered or is gone.
///
/// Dispatched by [`SystemPrompt`] right after; of no scope, so only unscoped and global listeners hear it. A listener that
/// refuses a registration has it taken back, which is told too, and its error is the registration's; an error about a
/// removal is reported and changes nothing. Cancellation plays no part.
///
/// Source: event `system-prompt/change`.
pub const CHANGE: Announce<PromptChange> = Announce::new("system-prompt/change");

/// A prompt was assembled and may be changed: `next` gives it as the listeners below left it.
///
/// Dispatched by [`SystemPrompt::assemble`]; scope-filtered by the scope that the prompt is for. A listener may change
/// the [`assembly`](Assembling::assembly) before it runs `next`, change or replace what `next` gave, or leave `next` out. What
/// the outermost one returns stands, but for two things: a complete section is the only one, with the text it had before,
/// and where the runtime context is suppressed there are no contexts. An error or a panic fails the assembly.
/// Cancellation is not watched here; a listener that waits for long watches the context's
/// [token](crate::AssembleContext::cancellation), which it must not keep.
///
/// Source: event `system-prompt/assemble`.
pub const ASSEMBLE: Waterfall<Assembling, Result<PromptAssembly, BoxError>> =
    Waterfall::new("system-prompt/assemble").scoped_by(|assembling| assembling.context().scope());
