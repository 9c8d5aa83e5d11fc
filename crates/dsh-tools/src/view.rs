//! What a scope sees of the registry: shadowing, restrictions and order.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cordis::ScopeKey;

use crate::code_mode::Transport;
use crate::mode::{Mode, RUN_CODE};
use crate::registered::RegisteredTool;
use crate::registry::{Registry, ToolLayer};

impl Registry {
    /// The tool that a scope sees under this name: the nearest one that no restriction below it takes away. `run_code` is
    /// nobody's to register or restrict, so the mode alone decides about it.
    pub(crate) fn visible(&self, name: &str, scope: Option<&ScopeKey>) -> Option<Arc<RegisteredTool>> {
        if name == RUN_CODE {
            return self.run_code(scope);
        }
        let mut seen = self.layers().global().tools.get(name);
        let Some(scope) = scope else { return seen };
        for layer in self.layers().chain(scope) {
            if seen.is_some() && !admits(&layer, name) {
                seen = None;
            }
            if let Some(own) = layer.tools.get(name) {
                seen = Some(own);
            }
        }
        seen
    }

    /// The tool `run_code`, where programs are a way to the tools.
    fn run_code(&self, scope: Option<&ScopeKey>) -> Option<Arc<RegisteredTool>> {
        match self.mode(scope) {
            Mode::Native => None,
            Mode::Code | Mode::Both => self.transport().map(Transport::current),
        }
    }

    /// All tools that a scope sees: those that programs can call, then `run_code` where they are a way to them.
    pub(crate) fn view(&self, scope: Option<&ScopeKey>) -> Vec<Arc<RegisteredTool>> {
        let mut view = self.offered(scope);
        view.extend(self.run_code(scope));
        view
    }

    /// The tools that a program of a scope can call: global ones in the order of their registration, then those along the
    /// chain, farthest first. One that shadows another takes its place; one whose name was restricted away comes last.
    pub(crate) fn offered(&self, scope: Option<&ScopeKey>) -> Vec<Arc<RegisteredTool>> {
        let mut view = View::default();
        view.add(self.layers().global());
        for layer in scope.map(|scope| self.layers().chain(scope)).unwrap_or_default() {
            view.restrict(&layer);
            view.add(&layer);
        }
        view.tools.into_iter().flatten().collect()
    }

    /// The names that a scope sees before restrictions.
    pub(crate) fn known_names(&self, scope: Option<&ScopeKey>) -> Vec<Arc<str>> {
        self.layers().merge(scope, |layer| &layer.tools).into_iter().map(|(name, _)| name).collect()
    }

    /// The names that a scope inherits, restricted or not.
    pub(crate) fn inherited_names(&self, scope: &ScopeKey) -> BTreeSet<Arc<str>> {
        let mut names: BTreeSet<Arc<str>> = self.layers().global().tools.keys().into_iter().collect();
        let mut above = scope.chain();
        // The chain begins with the scope itself, whose own tools it does not inherit.
        for ancestor in above.drain(1..) {
            names.extend(self.layers().peek(&ancestor).into_iter().flat_map(|layer| layer.tools.keys()));
        }
        names
    }
}

fn admits(layer: &ToolLayer, name: &str) -> bool {
    layer.restrictions.iter().all(|restriction| restriction.admits(name))
}

/// A view in the making: the tools in order, with gaps where some were taken away.
#[derive(Default)]
struct View {
    tools: Vec<Option<Arc<RegisteredTool>>>,
    places: HashMap<Arc<str>, usize>,
}

impl View {
    fn restrict(&mut self, layer: &ToolLayer) {
        if layer.restrictions.is_empty() {
            return;
        }
        for tool in &mut self.tools {
            if let Some(hidden) = tool.take_if(|tool| !admits(layer, tool.name())) {
                self.places.remove(hidden.name());
            }
        }
    }

    fn add(&mut self, layer: &ToolLayer) {
        for (name, tool) in layer.tools.iter() {
            match self.places.get(&name) {
                Some(place) => self.tools[*place] = Some(tool),
                None => {
                    self.places.insert(name, self.tools.len());
                    self.tools.push(Some(tool));
                }
            }
        }
    }
}
