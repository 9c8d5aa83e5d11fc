//! Which plugins are mounted, and how often.

use crate::{Context, Fiber, Plugin, PluginId, shared::Shared, sync::Arc};
use std::fmt;

/// A look at the mounted plugins; it counts them when it is asked, and costs a mounted plugin nothing.
pub struct Registry {
    shared: Arc<Shared>,
}

/// One plugin and its fibers, in the order of mounting.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MountedPlugin {
    /// Which plugin.
    pub plugin: PluginId,
    /// Its instances; each has a configuration and a state of its own.
    pub fibers: Vec<Fiber>,
}

impl Context {
    /// The registry of the app.
    #[must_use]
    pub fn registry(&self) -> Registry {
        Registry { shared: self.shared().clone() }
    }
}

impl Registry {
    /// All plugins, in the order in which their first instance was mounted.
    #[must_use]
    pub fn plugins(&self) -> Vec<MountedPlugin> {
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
        let mut plugins: Vec<MountedPlugin> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (plugin, fiber) in mounted {
            let place = *places.entry(plugin.clone()).or_insert(plugins.len());
            match plugins.get_mut(place) {
                Some(mounted) => mounted.fibers.push(fiber),
                None => plugins.push(MountedPlugin { plugin, fibers: vec![fiber] }),
            }
        }
        plugins
    }

    /// How many different plugins are mounted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.plugins().len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The instances of a plugin.
    #[must_use]
    pub fn get<P: Plugin>(&self, plugin: &P) -> Option<MountedPlugin> {
        self.find(&PluginId::of(plugin))
    }

    /// The instances of the plugin with this identity.
    #[must_use]
    pub fn find(&self, plugin: &PluginId) -> Option<MountedPlugin> {
        self.plugins().into_iter().find(|mounted| mounted.plugin == *plugin)
    }

    /// Requests the unloading of all instances of a plugin and gives them; `None` when there is none.
    pub fn remove(&self, plugin: &PluginId) -> Option<MountedPlugin> {
        let mounted = self.find(plugin)?;
        for fiber in &mounted.fibers {
            fiber.cancel();
        }
        Some(mounted)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mounted = self.plugins();
        f.debug_map().entries(mounted.iter().map(|of| (of.plugin.name(), &of.fibers))).finish()
    }
}
