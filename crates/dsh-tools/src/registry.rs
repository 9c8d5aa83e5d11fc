//! Who offers which tool, who restricts which, and who guards calls: globally, and for the scope of each agent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cordis::{
    AnonymousEntries, BoxError, Context, Effect, EntryUndo, Layer, LayerError, Layers, NamedEntries, ScopeKey,
};
use dsh_llm::ToolSchema;
use serde_json::Value;
use thiserror::Error;

use crate::bodies::Bodies;
use crate::call::ToolCall;
use crate::code::Body;
use crate::code_mode::Transport;
use crate::config::Config;
use crate::definition::{Check, ToolDefinition};
use crate::guard::{Guard, GuardFailure, GuardFn, Refusal};
use crate::keys::CHANGE;
use crate::mode::{Mode, RUN_CODE};
use crate::register_error::RegisterError;
use crate::registered::RegisteredTool;
use crate::restriction::Restriction;
use crate::runtime::ToolsChange;
use crate::schema::dismantle;

/// The store behind the runtime.
pub(crate) struct Registry {
    layers: Layers<ToolLayer>,
    mode: Mode,
    /// How long bodies are waited for when their tool is taken back.
    body_grace: Duration,
    /// The tool `run_code`, once there is a plugin that lends it.
    transport: OnceLock<Transport>,
    /// Counts the guards that came, so that a call knows whether it was judged by all of them.
    guards: Arc<AtomicU64>,
}

/// What is registered for one scope, or globally.
#[derive(Default)]
pub(crate) struct ToolLayer {
    pub(crate) tools: NamedEntries<Arc<RegisteredTool>>,
    pub(crate) restrictions: AnonymousEntries<Arc<Restriction>>,
    guards: AnonymousEntries<Guard>,
    presentation: NamedEntries<Mode>,
}

/// How often guards are asked about one call because more of them come.
const MAX_JUDGEMENTS: usize = 16;
/// The one name in the table of presentations.
const PRESENTATION: &str = "presentation";

impl Layer for ToolLayer {
    fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.restrictions.is_empty()
            && self.guards.is_empty()
            && self.presentation.is_empty()
    }
}

impl Registry {
    pub(crate) fn new(config: &Config) -> Self {
        let announce = |ctx: &Context| ctx.announce(CHANGE, &ToolsChange { scope: ctx.scope_key().cloned() });
        let layers = Layers::new(|_| ToolLayer::default(), announce);
        Self {
            layers,
            mode: config.mode,
            body_grace: config.body_grace(),
            transport: OnceLock::new(),
            guards: Arc::default(),
        }
    }

    pub(crate) fn layers(&self) -> &Layers<ToolLayer> {
        &self.layers
    }

    /// How the tools of a scope are presented: as the nearest scope says, else as configured.
    pub(crate) fn mode(&self, scope: Option<&ScopeKey>) -> Mode {
        let scoped = scope.map(|scope| self.layers.chain(scope)).unwrap_or_default();
        scoped.iter().rev().find_map(|layer| layer.presentation.get(PRESENTATION)).unwrap_or(self.mode)
    }

    /// The tool `run_code`; none as long as no plugin lends it.
    pub(crate) fn transport(&self) -> Option<&Transport> {
        self.transport.get()
    }

    /// The first one stands.
    pub(crate) fn set_transport(&self, transport: Transport) {
        let _ = self.transport.set(transport);
    }

    /// How often guards were added; see [`guarded`](Self::guarded).
    pub(crate) fn guard_epoch(&self) -> u64 {
        self.guards.load(Ordering::Acquire)
    }

    /// The guards' word on a call, of all that have come by then; gives how many had. A call of a scope that is closed goes
    /// nowhere: what was registered for it has gone, and does not protect it any more.
    pub(crate) fn judge(&self, call: &ToolCall) -> Result<u64, Refusal> {
        // One that comes while they are asked is asked as well, unless they come for ever.
        for _ in 0..MAX_JUDGEMENTS {
            let epoch = self.guard_epoch();
            if let Some(reason) = self.guarded(call)? {
                return Err(Refusal::Denied(reason));
            }
            // After the guards: as long as the scope was open then, they were all there.
            self.is_open(call)?;
            if self.guard_epoch() == epoch {
                return Ok(epoch);
            }
        }
        Err(Refusal::Denied(format!(
            "guards of tool \"{}\" change all the time: try again later",
            call.name()
        )))
    }

    /// Whether the scope of a call is still there.
    pub(crate) fn is_open(&self, call: &ToolCall) -> Result<(), Refusal> {
        match call.scope().is_some_and(ScopeKey::is_closed) {
            true => Err(Refusal::Closed),
            false => Ok(()),
        }
    }

    /// Asks all guards, global ones first, then from the farthest scope to the nearest. The first reason is final.
    fn guarded(&self, call: &ToolCall) -> Result<Option<String>, GuardFailure> {
        for guard in self.layers.global().guards.iter() {
            if let Some(reason) = guard.check(call)? {
                return Ok(Some(reason));
            }
        }
        let Some(scope) = call.scope() else { return Ok(None) };
        for layer in self.layers.chain(scope) {
            for guard in layer.guards.iter() {
                if let Some(reason) = guard.check(call)? {
                    return Ok(Some(reason));
                }
            }
        }
        Ok(None)
    }

    pub(crate) fn register(
        &self,
        ctx: &Context,
        definition: ToolDefinition,
    ) -> Result<Effect, RegisterError> {
        let plugin = || ctx.fiber().label();
        let ToolDefinition { name, description, parameters, check, output, timeout, idempotent, code } =
            definition;
        let name = name.into_owned();
        let output = output.map_err(|source| RegisterError::Output {
            name: name.clone(),
            plugin: plugin(),
            source,
        })?;
        if let Some(timeout) = timeout.filter(|timeout| timeout.is_zero()) {
            return Err(RegisterError::Timeout { name, plugin: plugin(), timeout });
        }
        if name == RUN_CODE {
            return Err(RegisterError::Reserved { plugin: plugin() });
        }
        let check = match check {
            Check::Unchecked => None,
            Check::Checked(Ok(schema)) => Some(schema),
            Check::Checked(Err(source)) => {
                return Err(RegisterError::Parameters { name, plugin: plugin(), source });
            }
        };
        let parameters = match parameters.into_value() {
            Value::Object(parameters) => parameters,
            other => {
                dismantle(other);
                return Err(RegisterError::NoObject { name, plugin: plugin() });
            }
        };
        let schema = ToolSchema { name: name.clone(), description: description.into_owned(), parameters };
        let (finalizes, may_be_parallel) = (code.finalize.is_some(), code.parallel.is_some());
        let blocking = matches!(code.body, Body::Blocking(_));
        let label = format!("tool {name:?}");
        ctx.effects(format!("tools.register({name:?})"), |inside| {
            let bodies = if blocking { Some(Bodies::new(inside, &name)?) } else { None };
            let (lent, code) = inside.lend(label, code)?;
            if let Some(bodies) = &bodies {
                // Here all bodies are waited for, once.
                lent.with_limit(self.body_grace);
                bodies.end_with(inside)?;
            }
            let tool = RegisteredTool {
                schema,
                check,
                output,
                timeout,
                idempotent,
                may_be_parallel,
                finalizes,
                bodies,
                code,
            };
            self.insert(inside, &name, Arc::new(tool))
        })
    }

    fn insert(&self, ctx: &Context, name: &str, tool: Arc<RegisteredTool>) -> Result<(), RegisterError> {
        let inserted = self.layers.effect(ctx, "entry", |layer| {
            let taken = |held: Arc<RegisteredTool>| Occupied { owner: held.plugin() };
            insert_or(&layer.tools, name, &tool, taken)
        });
        match inserted {
            Ok(_) => Ok(()),
            Err(LayerError::Action(Occupied { owner })) => Err(RegisterError::Taken {
                name: name.to_owned(),
                owner,
                plugin: ctx.fiber().label(),
                scoped: ctx.scope_key().is_some(),
            }),
            Err(other) => Err(refused(ctx, format!("tool \"{name}\""), other)),
        }
    }

    pub(crate) fn guard(&self, ctx: &Context, check: GuardFn) -> Result<Effect, RegisterError> {
        ctx.effects("tools.guard()", |inside| {
            let (_, guard) = inside.lend("guard", check)?;
            let appended = self.layers.effect_quietly(inside, "entry", |layer| {
                Ok::<_, std::convert::Infallible>(layer.guards.append(Guard(guard)))
            });
            appended.map_err(|error| refused(ctx, "a guard".to_owned(), error))?;
            self.guards.fetch_add(1, Ordering::AcqRel);
            Ok(())
        })
    }

    pub(crate) fn restrict(&self, ctx: &Context, restriction: Restriction) -> Result<Effect, RegisterError> {
        let plugin = || ctx.fiber().label();
        let Some(scope) = ctx.scope_key() else {
            let remedy =
                "restrict on the context of one agent; here it would hide the tools from all of them";
            return Err(RegisterError::Unscoped { plugin: plugin(), what: "restrict tools", remedy });
        };
        if restriction.is_empty() {
            return Err(RegisterError::EmptyRestriction { plugin: plugin() });
        }
        let names = restriction.names();
        if names.contains(&RUN_CODE) {
            return Err(RegisterError::ReservedRestriction { plugin: plugin() });
        }
        let known = self.inherited_names(scope);
        let unknown: Vec<String> =
            names.iter().filter(|name| !known.contains(**name)).map(|name| format!("\"{name}\"")).collect();
        if !unknown.is_empty() {
            let known: Vec<&str> = known.iter().map(|name| &**name).collect();
            let known = if known.is_empty() { "(none)".to_owned() } else { known.join(", ") };
            return Err(RegisterError::UnknownTools { plugin: plugin(), unknown: unknown.join(", "), known });
        }
        let restriction = Arc::new(restriction);
        let appended = self.layers.effect(ctx, "tools.restrict()", |layer| {
            Ok::<_, std::convert::Infallible>(layer.restrictions.append(restriction))
        });
        appended.map_err(|error| refused(ctx, "a restriction".to_owned(), error))
    }

    /// Declares how the tools of the context's scope are presented.
    pub(crate) fn present(&self, ctx: &Context, mode: Mode) -> Result<Effect, RegisterError> {
        if ctx.scope_key().is_none() {
            let remedy = "present on the context of one agent; `mode` of the plugin's configuration is for all of them";
            return Err(RegisterError::Unscoped {
                plugin: ctx.fiber().label(),
                what: "present tools",
                remedy,
            });
        }
        let inserted = self.layers.effect(ctx, format!("tools.present({mode})"), |layer| {
            insert_or(&layer.presentation, PRESENTATION, &mode, |present| Presented { present })
        });
        inserted.map_err(|error| match error {
            LayerError::Action(Presented { present }) => {
                RegisterError::Presented { plugin: ctx.fiber().label(), wanted: mode, present }
            }
            other => refused(ctx, format!("presentation `{mode}`"), other),
        })
    }
}

/// Adds an entry, or makes an error of the one that has the name.
fn insert_or<V: Clone + Send + Sync + 'static, E>(
    table: &NamedEntries<V>,
    name: &str,
    value: &V,
    taken: impl Fn(V) -> E,
) -> Result<EntryUndo, E> {
    loop {
        if let Ok(undo) = table.insert(name, value.clone()) {
            return Ok(undo);
        }
        // None when it went in between: then the name is free.
        if let Some(held) = table.get(name) {
            return Err(taken(held));
        }
    }
}

fn refused<E: std::error::Error + Send + Sync + 'static>(
    ctx: &Context,
    what: String,
    error: LayerError<E>,
) -> RegisterError {
    let source: BoxError = match error {
        LayerError::Inactive(inactive) => return RegisterError::Inactive(inactive),
        LayerError::Refused(source) => source,
        other => other.into(),
    };
    RegisterError::Refused { what, plugin: ctx.fiber().label(), source }
}

/// The name is taken, by whom.
#[derive(Debug, Error)]
#[error("taken by `{owner}`")]
struct Occupied {
    owner: String,
}

/// The scope says already how its tools are presented.
#[derive(Debug, Error)]
#[error("presented as `{present}`")]
struct Presented {
    present: Mode,
}
