//! Why something was not registered.

use std::time::Duration;

use cordis::{BoxError, Inactive};
use thiserror::Error;

use crate::mode::{Mode, RUN_CODE};
use crate::schema::SchemaError;

/// A tool, a guard, a restriction or a presentation was not registered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The context's plugin is not running.
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// The schema of the tool's value is not of the supported subset.
    #[error("tool \"{name}\" of `{plugin}`: the schema of its value is not supported")]
    Output {
        /// The tool's name.
        name: String,
        /// The plugin that wanted it.
        plugin: String,
        /// What is wrong with it.
        #[source]
        source: SchemaError,
    },
    /// The schema of the arguments, which are to be checked against it, is not of the supported subset.
    #[error("tool \"{name}\" of `{plugin}`: the schema of its arguments is not supported")]
    Parameters {
        /// The tool's name.
        name: String,
        /// The plugin that wanted it.
        plugin: String,
        /// What is wrong with it.
        #[source]
        source: SchemaError,
    },
    /// The parameters of a tool are an object; these are not.
    #[error("tool \"{name}\" of `{plugin}`: its parameters must be a JSON schema, which is an object")]
    NoObject {
        /// The tool's name.
        name: String,
        /// The plugin that wanted it.
        plugin: String,
    },
    /// The body would be given no time.
    #[error("tool \"{name}\" of `{plugin}`: its timeout must be longer than nothing, not {timeout:?}")]
    Timeout {
        /// The tool's name.
        name: String,
        /// The plugin that wanted it.
        plugin: String,
        /// The timeout.
        timeout: Duration,
    },
    /// The name is kept for programs.
    #[error(
        "tool \"{RUN_CODE}\" of `{plugin}`: the name is reserved for programs that call tools; it can be neither registered nor shadowed"
    )]
    Reserved {
        /// The plugin that wanted it.
        plugin: String,
    },
    /// The name is taken where the tool was to be registered.
    #[error("tool \"{name}\" of `{plugin}` is already registered by `{owner}`{}", remedy(*.scoped))]
    Taken {
        /// The tool's name.
        name: String,
        /// The plugin that has it.
        owner: String,
        /// The plugin that wanted it.
        plugin: String,
        /// Whether this happened in an agent's scope.
        scoped: bool,
    },
    /// A restriction or a presentation of all agents at once.
    #[error("`{plugin}` cannot {what} for every agent at once: {remedy}")]
    Unscoped {
        /// The plugin.
        plugin: String,
        /// What it wanted to do.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A restriction that restricts nothing.
    #[error("a restriction of `{plugin}` does nothing: give it names to allow, names to deny, or both")]
    EmptyRestriction {
        /// The plugin.
        plugin: String,
    },
    /// A restriction of the tool through which programs reach the others.
    #[error(
        "a restriction of `{plugin}` names \"{RUN_CODE}\", which cannot be restricted: restrict the tools that programs reach through it"
    )]
    ReservedRestriction {
        /// The plugin.
        plugin: String,
    },
    /// A restriction of tools that the scope does not inherit.
    #[error(
        "a restriction of `{plugin}` names {unknown}, which its scope does not inherit; it inherits {known}"
    )]
    UnknownTools {
        /// The plugin.
        plugin: String,
        /// The names, each quoted, in the restriction's order.
        unknown: String,
        /// The names that are inherited, sorted; `(none)` for none.
        known: String,
    },
    /// The scope says already how its tools are presented.
    #[error(
        "`{plugin}` cannot present tools as `{wanted}`: its scope presents them as `{present}` already; take that back first"
    )]
    Presented {
        /// The plugin.
        plugin: String,
        /// The mode that it wanted.
        wanted: Mode,
        /// The mode that there is.
        present: Mode,
    },
    /// A listener of [`CHANGE`](crate::CHANGE) refused.
    #[error("{what} of `{plugin}` was refused")]
    Refused {
        /// What was to be registered.
        what: String,
        /// The plugin that wanted it.
        plugin: String,
        /// What the listener said.
        #[source]
        source: BoxError,
    },
}

fn remedy(scoped: bool) -> &'static str {
    if scoped {
        " in this scope: unload that one first"
    } else {
        ": unload that one first, or register a variant for one agent on that agent's context"
    }
}
