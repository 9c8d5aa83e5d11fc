//! The way of an assembly, from top to bottom.

use cordis::{BoxError, Context, ListenerPanic};
use thiserror::Error;

use crate::assembly::{Assembling, PromptAssembly};
use crate::collect::collect;
use crate::context::AssembleContext;
use crate::contribution::Contribution;
use crate::keys::ASSEMBLE;
use crate::registry::Registry;
use crate::tool_order::{ToolOrder, UNLISTED_TOOLS};

/// A prompt was not assembled.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// What a plugin registered returned an error or panicked.
    #[error("{what} of `{plugin}` failed")]
    Provider {
        /// What the plugin registered.
        what: Contribution,
        /// The plugin, as `name#uid`.
        plugin: String,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// Several sections want to be the only one.
    #[error(
        "the sections {} all want to be the whole prompt: unload all but one, or give them one name and different scopes",
        quoted(.names)
    )]
    SeveralComplete {
        /// Their names, in their order.
        names: Vec<String>,
    },
    /// A tool has a name that tool orders use.
    #[error("`{plugin}` offers a tool called {UNLISTED_TOOLS:?}, which is reserved: rename it")]
    ReservedName {
        /// The plugin that offers it, as `name#uid`.
        plugin: String,
    },
    /// The configured order lists tools that nobody knows.
    #[error(
        "`toolOrder` lists the unknown {} {}: known are {}",
        if .unknown.len() == 1 { "tool" } else { "tools" },
        quoted(.unknown),
        quoted(.known)
    )]
    UnknownTools {
        /// The names that are listed and not known, in the order of the list.
        unknown: Vec<String>,
        /// The names that are known, sorted.
        known: Vec<String>,
    },
    /// A listener of [`ASSEMBLE`] returned an error.
    #[error("a listener of `system-prompt/assemble` refused the prompt")]
    Refused(#[source] BoxError),
    /// A listener of [`ASSEMBLE`] panicked.
    #[error(transparent)]
    Listener(#[from] ListenerPanic),
}

/// Names as messages list them.
pub(crate) fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "(none)".to_owned();
    }
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// Collects what the scope sees, and asks the listeners; what they must not change is put back.
pub(crate) async fn assemble(
    registry: &Registry,
    tool_order: Option<&ToolOrder>,
    ctx: &Context,
    context: &AssembleContext,
) -> Result<PromptAssembly, AssembleError> {
    let collected = collect(registry, tool_order, context)?;
    let mut assembling = Assembling { assembly: collected.assembly, context: context.clone() };
    let changed = ctx.waterfall(ASSEMBLE, &mut assembling, &(), unchanged).await?;
    let mut assembly = changed.map_err(AssembleError::Refused)?;
    if let Some(complete) = collected.complete {
        assembly.sections = vec![complete];
    }
    if collected.suppressed {
        assembly.contexts.clear();
    }
    Ok(assembly)
}

/// The innermost step. A copy, because a listener may run it again, or look at its own once more.
async fn unchanged(_: &(), assembling: &mut Assembling) -> Result<PromptAssembly, BoxError> {
    Ok(assembling.assembly.clone())
}
