//! Who offers which tool, and who guards calls: globally, and for the scope of each agent.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use cordis::{
    AnonymousEntries, BoxError, Context, Duplicate, Effect, Inactive, Layer, LayerError, Layers,
    NamedEntries, ScopeKey,
};
use thiserror::Error;

use crate::call::ToolCall;
use crate::guard::{Guard, GuardFailure, GuardFn};
use crate::keys::CHANGE;
use crate::runtime::ToolsChange;
use crate::tool::{ErasedTool, Tool, ToolSpec, Typed};

/// The store behind the runtime.
pub(crate) struct Registry {
    layers: Layers<ToolLayer>,
    body_grace: Duration,
}

/// What is registered for one scope, or globally.
#[derive(Default)]
struct ToolLayer {
    tools: NamedEntries<Arc<Entry>>,
    guards: AnonymousEntries<Arc<Guard>>,
}

impl Layer for ToolLayer {
    fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.guards.is_empty()
    }
}

/// A registered tool.
pub(crate) struct Entry {
    pub(crate) spec: ToolSpec,
    pub(crate) tool: Arc<dyn ErasedTool>,
    /// The context that registered it; its bodies run there.
    pub(crate) owner: Context,
}

/// A tool or a guard was not registered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The context's plugin is not running.
    #[error(transparent)]
    Inactive(#[from] Inactive),
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
    /// A listener of [`CHANGE`] refused the tool.
    #[error("tool \"{name}\" of `{plugin}` was refused")]
    Refused {
        /// The tool's name.
        name: String,
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

impl Registry {
    pub(crate) fn new(body_grace: Duration) -> Self {
        let announce = |ctx: &Context| ctx.announce(CHANGE, &ToolsChange { scope: ctx.scope_key().cloned() });
        Self { layers: Layers::new(|_| ToolLayer::default(), announce), body_grace }
    }

    pub(crate) fn body_grace(&self) -> Duration {
        self.body_grace
    }

    /// The tool that a call of this scope means: the nearest one.
    pub(crate) fn find(&self, name: &str, scope: Option<&ScopeKey>) -> Option<Arc<Entry>> {
        let scoped = scope.map(|scope| self.layers.chain(scope)).unwrap_or_default();
        let nearest = scoped.iter().rev().find_map(|layer| layer.tools.get(name));
        nearest.or_else(|| self.layers.global().tools.get(name))
    }

    pub(crate) fn specs(&self, scope: Option<&ScopeKey>) -> Vec<ToolSpec> {
        let view = self.layers.merge(scope, |layer| &layer.tools);
        view.into_iter().map(|(_, entry)| entry.spec.clone()).collect()
    }

    /// Asks all guards, global ones first, then from the farthest scope to the nearest. The first reason is final.
    pub(crate) fn guarded(&self, call: &ToolCall) -> Result<Option<String>, GuardFailure> {
        let scoped = call.scope().map(|scope| self.layers.chain(scope)).unwrap_or_default();
        let guards = scoped.iter().flat_map(|layer| layer.guards.iter());
        for guard in self.layers.global().guards.iter().chain(guards) {
            if let Some(reason) = guard.check(call)? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    pub(crate) fn register<T: Tool>(&self, ctx: &Context, tool: T) -> Result<Effect, RegisterError> {
        let spec = tool.spec();
        let tool = Arc::new(Typed { tool, parameters: spec.parameters.clone() });
        self.insert(ctx, Entry { spec, tool, owner: ctx.clone() })
    }

    fn insert(&self, ctx: &Context, entry: Entry) -> Result<Effect, RegisterError> {
        let name = entry.spec.name.clone().into_owned();
        let entry = Arc::new(entry);
        let inserted = self.layers.effect(ctx, format!("tools.register({name:?})"), |layer| {
            let owner = layer.tools.get(&name).map(|held| held.owner.fiber().label());
            layer.tools.insert(name.as_str(), entry).map_err(|taken| Taken { taken, owner })
        });
        inserted.map_err(|error| match error {
            LayerError::Inactive(inactive) => RegisterError::Inactive(inactive),
            LayerError::Action(Taken { taken, owner }) => RegisterError::Taken {
                name: taken.name,
                owner: owner.unwrap_or_default(),
                plugin: ctx.fiber().label(),
                scoped: ctx.scope_key().is_some(),
            },
            LayerError::Refused(source) => refused(ctx, &name, source),
            other => refused(ctx, &name, other),
        })
    }

    pub(crate) fn guard(&self, ctx: &Context, check: Box<GuardFn>) -> Result<Effect, RegisterError> {
        // Without its number: the model reads it, and reads the same in another run.
        let guard = Arc::new(Guard { owner: ctx.fiber().name().to_owned(), check });
        let appended = self
            .layers
            .effect_quietly(ctx, "tools.guard()", |layer| Ok::<_, Infallible>(layer.guards.append(guard)));
        appended.map_err(|error| match error {
            LayerError::Inactive(inactive) => RegisterError::Inactive(inactive),
            LayerError::Action(never) => match never {},
            other => refused(ctx, "guard", other),
        })
    }
}

fn refused(ctx: &Context, name: &str, source: impl Into<BoxError>) -> RegisterError {
    RegisterError::Refused { name: name.to_owned(), plugin: ctx.fiber().label(), source: source.into() }
}

/// The name is taken, by whom.
#[derive(Debug, Error)]
#[error("{taken}")]
struct Taken {
    taken: Duplicate,
    owner: Option<String>,
}
