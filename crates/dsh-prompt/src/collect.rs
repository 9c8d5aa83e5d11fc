//! What a scope sees, asked for in one go, before listeners may change it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use dsh_llm::ToolSchema;

use crate::assemble::AssembleError;
use crate::assembly::{PromptAssembly, PromptTemplate};
use crate::context::AssembleContext;
use crate::contribution::Contribution;
use crate::lent::LentPart;
use crate::registry::Registry;
use crate::tool_order::{self, ToolOrder, UNLISTED_TOOLS, by_code_units};

/// A prompt before listeners see it, and what they cannot change of it.
pub(crate) struct Collected {
    pub(crate) assembly: PromptAssembly,
    pub(crate) complete: Option<PromptTemplate>,
    pub(crate) suppressed: bool,
}

/// Asks everybody whom the scope sees, in an order that providers can see.
pub(crate) fn collect(
    registry: &Registry,
    tool_order: Option<&ToolOrder>,
    context: &AssembleContext,
) -> Result<Collected, AssembleError> {
    let scope = context.scope();
    let chain = registry.chain(scope);
    let mut suppressors =
        chain.iter().map(|layer| &layer.suppressors).chain([&registry.layers().global().suppressors]);
    let suppressed = suppressors.any(|suppressors| !suppressors.is_empty());
    let variables = variables(registry, context)?;
    // Merged before any text is asked for, so that a shadowed one never is.
    let sections = registry.layers().merge(scope, |layer| &layer.sections);
    let contexts = registry.layers().merge(scope, |layer| &layer.contexts);
    let mut tools = tools(registry, context)?;

    let sections = in_order(sections);
    let complete = complete_of(&sections)?;
    let sections = resolved(&sections, context, Contribution::Section)?;
    let complete = complete.and_then(|place| sections.get(place).cloned().flatten());
    let sections = sections.into_iter().flatten().collect();
    let contexts = match suppressed {
        true => Vec::new(),
        false => {
            let contexts = resolved(&in_order(contexts), context, Contribution::Context)?;
            contexts.into_iter().flatten().collect()
        }
    };
    if let Some(order) = tool_order {
        tools.check(order)?;
    }
    tool_order::sort(&mut tools.schemas, tool_order);
    let assembly = PromptAssembly { sections, contexts, tools: tools.schemas, variables };
    Ok(Collected { assembly, complete, suppressed })
}

/// Asks every provider, farthest first; a nearer value takes the place of a farther one. What a provider registers in
/// the layer that is being asked is asked too.
fn variables(
    registry: &Registry,
    context: &AssembleContext,
) -> Result<BTreeMap<String, Option<String>>, AssembleError> {
    let mut variables = BTreeMap::new();
    let chain = registry.chain(context.scope());
    let scoped = chain.iter().flat_map(|layer| layer.variables.iter());
    for (name, provider) in registry.layers().global().variables.iter().chain(scoped) {
        let what = || Contribution::Variable((*name).to_owned());
        if let Some(value) = provider.ask(what, |provide| Ok(provide(context)))? {
            variables.insert((*name).to_owned(), value);
        }
    }
    Ok(variables)
}

/// All tools in the order of their providers, and the names that an order may list.
#[derive(Default)]
struct Tools {
    schemas: Vec<ToolSchema>,
    known: HashSet<String>,
}

impl Tools {
    fn check(&self, order: &ToolOrder) -> Result<(), AssembleError> {
        let unknown = order.unknown(&self.known);
        if unknown.is_empty() {
            return Ok(());
        }
        let mut known: Vec<String> = self.known.iter().cloned().collect();
        known.sort_by(|one, other| by_code_units(one, other));
        Err(AssembleError::UnknownTools { unknown, known })
    }
}

/// Asks the providers that there are when it begins, global ones first, then from the farthest scope to the nearest.
fn tools(registry: &Registry, context: &AssembleContext) -> Result<Tools, AssembleError> {
    let mut providers = registry.layers().global().tools.values();
    for layer in registry.chain(context.scope()) {
        providers.extend(layer.tools.iter());
    }
    let mut tools = Tools::default();
    for provider in providers {
        let offered = provider.ask(|| Contribution::Tools, |offer| offer(context))?;
        let Some(offered) = offered else { continue };
        if offered.schemas.iter().any(|schema| schema.name == UNLISTED_TOOLS) {
            return Err(AssembleError::ReservedName { plugin: provider.owner() });
        }
        match offered.known_names {
            Some(names) => tools.known.extend(names),
            None => tools.known.extend(offered.schemas.iter().map(|schema| schema.name.clone())),
        }
        tools.schemas.extend(offered.schemas);
    }
    Ok(tools)
}

/// Sorts a view; equal orders, and 0 equals -0, stay as they were.
fn in_order(view: Vec<(Arc<str>, Arc<LentPart>)>) -> Vec<Arc<LentPart>> {
    let mut parts: Vec<_> = view.into_iter().map(|(_, part)| part).collect();
    parts.sort_by(|one, other| one.order.partial_cmp(&other.order).unwrap_or(Ordering::Equal));
    parts
}

/// The place of the section that is to be the only one.
fn complete_of(sections: &[Arc<LentPart>]) -> Result<Option<usize>, AssembleError> {
    let mut complete = sections.iter().enumerate().filter(|(_, section)| section.complete);
    match (complete.next(), complete.next()) {
        (Some((_, first)), Some((_, second))) => {
            let more = complete.map(|(_, section)| section);
            let names = [first, second].into_iter().chain(more).map(|section| section.name.clone());
            Err(AssembleError::SeveralComplete { names: names.collect() })
        }
        (first, _) => Ok(first.map(|(place, _)| place)),
    }
}

/// The texts of parts; none for a part that went since the assembly began.
fn resolved(
    parts: &[Arc<LentPart>],
    context: &AssembleContext,
    what: fn(String) -> Contribution,
) -> Result<Vec<Option<PromptTemplate>>, AssembleError> {
    let resolve = |part: &Arc<LentPart>| {
        let name = || part.name.clone();
        let text = part.text(context, || what(name()))?;
        Ok(text.map(|text| PromptTemplate { name: name(), text }))
    };
    parts.iter().map(resolve).collect()
}
