//! The catalogue of the plugins that a program links (feature `catalog`).
//!
//! A plugin crate says `cordis::catalog!(plugin);` next to `pub fn plugin()`. A program that names the crate finds the
//! plugin here by its name, with a configuration that comes as JSON.

use crate::{BoxError, Context, Fiber, MountError, Needs, Plugin};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{fmt, sync::Arc};

#[doc(hidden)]
pub use inventory;

/// A need as the catalogue lists it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct NeedInfo {
    /// The key's name.
    pub name: String,
    /// Whether the plugin starts without it.
    pub optional: bool,
}

type MountFn = dyn Fn(&Context, Value) -> Result<Fiber, MountError> + Send + Sync;

/// A plugin whose configuration comes as JSON.
#[derive(Clone)]
pub struct DynPlugin {
    name: String,
    needs: Vec<NeedInfo>,
    provides: Vec<String>,
    schema: Value,
    mount: Arc<MountFn>,
}

impl DynPlugin {
    /// The erased form of what `make` makes; it is made anew for each mount.
    pub fn of<P>(make: impl Fn() -> P + Send + Sync + 'static) -> Self
    where
        P: Plugin,
        P::Config: DeserializeOwned + JsonSchema,
    {
        let plugin = make();
        let mut needs = Vec::new();
        plugin.needs().names(&mut needs);
        DynPlugin {
            name: plugin.name().into_owned(),
            needs: needs
                .into_iter()
                .map(|(name, optional)| NeedInfo { name: name.to_owned(), optional })
                .collect(),
            provides: plugin.provides().iter().map(|name| (*name).to_owned()).collect(),
            schema: SchemaGenerator::default().into_root_schema_for::<P::Config>().to_value(),
            mount: Arc::new(move |ctx, config| {
                let plugin = make();
                let invalid =
                    |source: BoxError| MountError::Config { plugin: plugin.name().into_owned(), source };
                let config = serde_path_to_error::deserialize(config).map_err(|e| invalid(at_path(e)))?;
                ctx.plugin(plugin, config)
            }),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it needs, in order.
    pub fn needs(&self) -> &[NeedInfo] {
        &self.needs
    }

    /// What it declares to provide.
    pub fn provides(&self) -> &[String] {
        &self.provides
    }

    /// The JSON Schema of its configuration.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Mounts it below `ctx`.
    ///
    /// # Errors
    /// The JSON does not fit the configuration's type, or the plugin cannot be mounted there. A configuration that the
    /// plugin's own validation refuses makes the fiber Failed, as one given in code does.
    pub fn mount(&self, ctx: &Context, config: Value) -> Result<Fiber, MountError> {
        (self.mount)(ctx, config)
    }
}

/// What is wrong, and where.
fn at_path(error: serde_path_to_error::Error<serde_json::Error>) -> BoxError {
    let path = error.path().to_string();
    let at = if path == "." { String::new() } else { format!(" (at {path})") };
    format!("{}{at}", error.into_inner()).into()
}

impl fmt::Debug for DynPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynPlugin({:?})", self.name)
    }
}

/// How a plugin enters the catalogue; see [`catalog!`](crate::catalog!).
#[doc(hidden)]
pub struct Entry(pub fn() -> DynPlugin);

inventory::collect!(Entry);

/// All plugins of the linked crates, by name.
pub fn all() -> Vec<DynPlugin> {
    let mut all: Vec<DynPlugin> = inventory::iter::<Entry>().map(|entry| (entry.0)()).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The plugin of this name.
pub fn find(name: &str) -> Option<DynPlugin> {
    all().into_iter().find(|plugin| plugin.name == name)
}

/// Enters a crate's plugin into the catalogue: `cordis::catalog!(plugin);` for a `fn plugin() -> impl Plugin` whose
/// `Config` is `DeserializeOwned + JsonSchema`.
#[macro_export]
macro_rules! catalog {
    ($plugin:path) => {
        $crate::catalog::inventory::submit! { $crate::catalog::Entry(|| $crate::catalog::DynPlugin::of($plugin)) }
    };
}
