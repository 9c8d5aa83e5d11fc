//! Which plugins are mounted, and how often.

use crate::{Context, Fiber, Plugin, PluginId, shared::Shared, sync::Arc};

/// A look at the mounted plugins; it counts them when it is asked, and costs a mounted plugin nothing.
pub struct Registry {
    shared: Arc<Shared>,
}

/// One plugin and its fibers, in the order of mounting.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Runtime {
    /// Which plugin.
    pub plugin: PluginId,
    /// Its instances; each has a configuration and a state of its own.
    pub fibers: Vec<Fiber>,
}

impl Context {
    /// The registry of the app.
    pub fn registry(&self) -> Registry {
        Registry { shared: self.shared().clone() }
    }
}

impl Registry {
    /// All plugins, in the order in which their first instance was mounted.
    pub fn plugins(&self) -> Vec<Runtime> {
        let mut mounted: Vec<(PluginId, Fiber)> = {
            let fibers = self.shared.fibers.lock();
            let of = |data: &crate::fibers::Data| {
                let fiber = Fiber { shared: self.shared.clone(), cell: data.cell.clone() };
                let kind = data.plugin.as_ref()?.kind();
                Some((PluginId { kind, name: data.cell.name.clone() }, fiber))
            };
            fibers.iter().filter_map(of).collect()
        };
        mounted.sort_by_key(|(_, fiber)| fiber.uid());
        let mut runtimes: Vec<Runtime> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (plugin, fiber) in mounted {
            let place = *places.entry(plugin.clone()).or_insert(runtimes.len());
            match runtimes.get_mut(place) {
                Some(runtime) => runtime.fibers.push(fiber),
                None => runtimes.push(Runtime { plugin, fibers: vec![fiber] }),
            }
        }
        runtimes
    }

    /// How many different plugins are mounted.
    pub fn len(&self) -> usize {
        self.plugins().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The instances of a plugin.
    pub fn get<P: Plugin>(&self, plugin: &P) -> Option<Runtime> {
        self.find(&PluginId::of(plugin))
    }

    /// The instances of the plugin with this identity.
    pub fn find(&self, plugin: &PluginId) -> Option<Runtime> {
        self.plugins().into_iter().find(|runtime| runtime.plugin == *plugin)
    }

    /// Requests the unloading of all instances of a plugin and gives them; `None` when there is none.
    pub fn remove(&self, plugin: &PluginId) -> Option<Runtime> {
        let runtime = self.find(plugin)?;
        for fiber in &runtime.fibers {
            fiber.cancel();
        }
        Some(runtime)
    }
}
