//! Who contributes what: globally, and for the scope of each agent.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use cordis::{
    AnonymousEntries, BoxError, Context, Effect, EntryUndo, Inactive, Layer, LayerError, Layers,
    NamedEntries, ScopeKey,
};
use thiserror::Error;

use crate::contribution::Contribution;
use crate::interpolate::is_variable_name;
use crate::keys::CHANGE;
use crate::lent::{LentPart, LentProvider, ToolsFn, VariableFn};
use crate::prompt::PromptChange;
use crate::text::Part;

/// The store behind the service.
pub(crate) struct Registry {
    layers: Layers<PromptLayer>,
}

/// What is registered for one scope, or globally.
#[derive(Default)]
pub(crate) struct PromptLayer {
    pub(crate) sections: NamedEntries<Arc<LentPart>>,
    pub(crate) contexts: NamedEntries<Arc<LentPart>>,
    pub(crate) variables: NamedEntries<Arc<LentProvider<VariableFn>>>,
    pub(crate) tools: AnonymousEntries<Arc<LentProvider<ToolsFn>>>,
    pub(crate) suppressors: AnonymousEntries<()>,
}

impl Layer for PromptLayer {
    fn is_empty(&self) -> bool {
        self.sections.is_empty()
            && self.contexts.is_empty()
            && self.variables.is_empty()
            && self.tools.is_empty()
            && self.suppressors.is_empty()
    }
}

/// Something was not registered; nothing of it is kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The context's plugin is not running.
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// The order is infinite or not a number.
    #[error("{what} of `{plugin}` cannot have the order {order}: give it a finite number")]
    Order {
        /// What was to be registered.
        what: Contribution,
        /// Its order.
        order: f64,
        /// The plugin that wanted it.
        plugin: String,
    },
    /// The name is none of a variable.
    #[error(
        "`{plugin}` cannot call a variable {name:?}: a name begins with a lower-case letter and goes on with lower-case \
         letters, digits and underscores"
    )]
    VariableName {
        /// The name.
        name: String,
        /// The plugin that wanted it.
        plugin: String,
    },
    /// The name is taken where it was to be registered.
    #[error("{what} of `{plugin}` is already registered by `{owner}`{}", remedy(*.scoped))]
    Taken {
        /// What was to be registered.
        what: Contribution,
        /// The plugin that has the name.
        owner: String,
        /// The plugin that wanted it.
        plugin: String,
        /// Whether this happened in an agent's scope.
        scoped: bool,
    },
    /// A listener of [`CHANGE`] refused it.
    #[error("{what} of `{plugin}` was refused")]
    Refused {
        /// What was to be registered.
        what: Contribution,
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
        ": unload that one first, or register yours for one agent, on that agent's context, where it takes its place"
    }
}

impl Registry {
    pub(crate) fn new() -> Self {
        let announce =
            |ctx: &Context| ctx.announce(CHANGE, &PromptChange { scope: ctx.scope_key().cloned() });
        Self { layers: Layers::new(|_| PromptLayer::default(), announce) }
    }

    pub(crate) fn layers(&self) -> &Layers<PromptLayer> {
        &self.layers
    }

    /// The layers along the scope's chain, farthest first; the global one is not among them.
    pub(crate) fn chain(&self, scope: Option<&ScopeKey>) -> Vec<Arc<PromptLayer>> {
        scope.map(|scope| self.layers.chain(scope)).unwrap_or_default()
    }

    pub(crate) fn section(&self, ctx: &Context, section: Part) -> Result<Effect, RegisterError> {
        let what = Contribution::Section(section.name.clone());
        self.part(ctx, what, section, |layer| &layer.sections)
    }

    pub(crate) fn context(&self, ctx: &Context, context: Part) -> Result<Effect, RegisterError> {
        let what = Contribution::Context(context.name.clone());
        self.part(ctx, what, context, |layer| &layer.contexts)
    }

    fn part(
        &self,
        ctx: &Context,
        what: Contribution,
        part: Part,
        table: impl Fn(&PromptLayer) -> &NamedEntries<Arc<LentPart>>,
    ) -> Result<Effect, RegisterError> {
        check_order(ctx, &what, part.order)?;
        ctx.effects(label(&what), |inside| {
            let name = part.name.clone();
            let entry = LentPart::lend(inside, label(&what), part)?;
            let owner = |held: &Arc<LentPart>| held.owner.clone();
            self.insert(inside, what, &name, entry, owner, table)
        })
    }

    pub(crate) fn variable(
        &self,
        ctx: &Context,
        name: String,
        provider: Box<VariableFn>,
    ) -> Result<Effect, RegisterError> {
        if !is_variable_name(&name) {
            return Err(RegisterError::VariableName { name, plugin: ctx.fiber().label() });
        }
        let what = Contribution::Variable(name.clone());
        ctx.effects(label(&what), |inside| {
            let entry = LentProvider::lend(inside, label(&what), provider)?;
            let owner = |held: &Arc<LentProvider<VariableFn>>| held.owner();
            self.insert(inside, what, &name, entry, owner, |layer| &layer.variables)
        })
    }

    pub(crate) fn tools(&self, ctx: &Context, provider: Box<ToolsFn>) -> Result<Effect, RegisterError> {
        let what = Contribution::Tools;
        ctx.effects(label(&what), |inside| {
            let provider = Arc::new(LentProvider::lend(inside, label(&what), provider)?);
            self.append(inside, what, |layer| layer.tools.append(provider))?;
            Ok(())
        })
    }

    pub(crate) fn suppress_runtime_context(&self, ctx: &Context) -> Result<Effect, RegisterError> {
        self.append(ctx, Contribution::Suppressor, |layer| layer.suppressors.append(()))
    }

    fn insert<T: Send + Sync + 'static>(
        &self,
        ctx: &Context,
        what: Contribution,
        name: &str,
        entry: T,
        owner: impl Fn(&Arc<T>) -> String,
        table: impl Fn(&PromptLayer) -> &NamedEntries<Arc<T>>,
    ) -> Result<(), RegisterError> {
        let entry = Arc::new(entry);
        let inserted =
            self.layers.effect(ctx, "entry", |layer| insert_or_owner(table(layer), name, &entry, &owner));
        match inserted {
            Ok(_) => Ok(()),
            Err(LayerError::Action(Taken { owner })) => Err(RegisterError::Taken {
                what,
                owner,
                plugin: ctx.fiber().label(),
                scoped: ctx.scope_key().is_some(),
            }),
            Err(other) => Err(not_registered(ctx, what, other)),
        }
    }

    fn append(
        &self,
        ctx: &Context,
        what: Contribution,
        append: impl FnOnce(&PromptLayer) -> EntryUndo,
    ) -> Result<Effect, RegisterError> {
        let appended = self.layers.effect(ctx, label(&what), |layer| Ok::<_, Infallible>(append(layer)));
        appended.map_err(|error| not_registered(ctx, what, error))
    }
}

/// Adds an entry, or says whose the one is that has the name.
fn insert_or_owner<T: Send + Sync + 'static>(
    table: &NamedEntries<Arc<T>>,
    name: &str,
    entry: &Arc<T>,
    owner: impl Fn(&Arc<T>) -> String,
) -> Result<EntryUndo, Taken> {
    loop {
        if let Ok(undo) = table.insert(name, Arc::clone(entry)) {
            return Ok(undo);
        }
        // None when it went in between: then the name is free.
        if let Some(held) = table.get(name) {
            return Err(Taken { owner: owner(&held) });
        }
    }
}

fn label(what: &Contribution) -> String {
    format!("systemPrompt: {what}")
}

fn check_order(ctx: &Context, what: &Contribution, order: f64) -> Result<(), RegisterError> {
    if order.is_finite() {
        return Ok(());
    }
    Err(RegisterError::Order { what: what.clone(), order, plugin: ctx.fiber().label() })
}

fn not_registered<E: Error + Send + Sync + 'static>(
    ctx: &Context,
    what: Contribution,
    error: LayerError<E>,
) -> RegisterError {
    let source = match error {
        LayerError::Inactive(inactive) => return RegisterError::Inactive(inactive),
        LayerError::Refused(source) => source,
        other => other.into(),
    };
    RegisterError::Refused { what, plugin: ctx.fiber().label(), source }
}

/// The name is taken, by whom.
#[derive(Debug, Error)]
#[error("taken by `{owner}`")]
struct Taken {
    owner: String,
}
