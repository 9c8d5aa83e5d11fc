//! The catalogue of the plugins that a program links (feature `catalog`).
//!
//! A plugin crate says `cordis::catalog!(plugin);` next to `pub fn plugin()`. A program that names the crate finds the
//! plugin here by its name, with a configuration that comes as JSON.

use crate::{BoxError, Context, Fiber, MountError, Needs, Plugin};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

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
    #[must_use]
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
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it needs, in order.
    #[must_use]
    pub fn needs(&self) -> &[NeedInfo] {
        &self.needs
    }

    /// What it declares to provide.
    #[must_use]
    pub fn provides(&self) -> &[String] {
        &self.provides
    }

    /// The JSON Schema of its configuration.
    #[must_use]
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
#[derive(Debug)]
pub struct Entry {
    /// The path of the function that makes it.
    pub path: &'static str,
    pub make: fn() -> DynPlugin,
}

inventory::collect!(Entry);

/// What was found out about the linked plugins, by name; they stay the same for the life of the program.
fn linked() -> &'static [(&'static str, DynPlugin)] {
    static LINKED: OnceLock<Vec<(&'static str, DynPlugin)>> = OnceLock::new();
    LINKED.get_or_init(|| {
        let mut linked: Vec<_> =
            inventory::iter::<Entry>().map(|entry| (entry.path, (entry.make)())).collect();
        linked.sort_by(|(path, plugin), (other_path, other)| {
            (&plugin.name, path).cmp(&(&other.name, other_path))
        });
        linked
    })
}

/// The plugins of a name are not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No linked crate has it.
    #[error("no plugin is called `{name}`: name its crate in the program, so that it is linked")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Several linked plugins have it.
    #[error(
        "two plugins are called `{name}`, `{first}` and `{second}`: link only one of them, or rename one"
    )]
    Ambiguous {
        /// The name.
        name: String,
        /// The path of the function that makes one of them.
        first: &'static str,
        /// The path of the function that makes another.
        second: &'static str,
    },
}

/// All plugins of the linked crates, by name.
///
/// # Errors
/// Two of them have one name: [`FindError::Ambiguous`] names both.
pub fn all() -> Result<Vec<DynPlugin>, FindError> {
    for pair in linked().windows(2) {
        if let [(first, plugin), (second, other)] = pair
            && plugin.name == other.name
        {
            return Err(FindError::Ambiguous { name: plugin.name.clone(), first, second });
        }
    }
    Ok(linked().iter().map(|(_, plugin)| plugin.clone()).collect())
}

/// The plugin of this name.
///
/// # Errors
/// There is none, or there are several; that other names are ambiguous does not matter.
pub fn find(name: &str) -> Result<DynPlugin, FindError> {
    let linked = linked();
    let from = linked.partition_point(|(_, plugin)| *plugin.name < *name);
    let mut called = linked.iter().skip(from).take_while(|(_, plugin)| plugin.name == name);
    match (called.next(), called.next()) {
        (None, _) => Err(FindError::Unknown { name: name.to_owned() }),
        (Some((_, plugin)), None) => Ok(plugin.clone()),
        (Some((first, _)), Some((second, _))) => {
            Err(FindError::Ambiguous { name: name.to_owned(), first, second })
        }
    }
}

/// Enters a crate's plugin into the catalogue: `cordis::catalog!(plugin);` for a `fn plugin() -> impl Plugin` whose
/// `Config` is `DeserializeOwned + JsonSchema`.
#[macro_export]
macro_rules! catalog {
    ($plugin:path) => {
        $crate::catalog::inventory::submit! {
            $crate::catalog::Entry {
                path: ::core::concat!(::core::module_path!(), "::", ::core::stringify!($plugin)),
                make: || $crate::catalog::DynPlugin::of($plugin),
            }
        }
    };
}
