//! Layers: every crate says which one it belongs to, and dependencies point downward.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::problems::Problems;
use crate::workspace::{Package, Workspace, files_below, lookup};

/// The definition crates in their order: each may depend on those before it.
pub const DEFINITIONS: &[&str] = &[
    "dsh-llm",
    "dsh-session",
    "dsh-session-projection",
    "dsh-token-meter",
    "dsh-prompt",
    "dsh-agent",
    "dsh-default-model",
    "dsh-approval",
    "dsh-tools",
    "dsh-subprocess",
    "dsh-shell",
    "dsh-jobs",
    "dsh-hooks",
    "dsh-fs",
    "dsh-sandbox",
];

const TESTKIT: &str = "dsh-testkit";
/// What the names of checkers end with, which tests of every layer may mount.
const CHECKER: &str = "-invariants";
const REMEDY: &str = "the layers and what each may depend on: docs/architecture.md; \
                      the order of the definition crates: DEFINITIONS in xtask/src/layers.rs";

/// A layer, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The plugin host; depends on nothing of ours.
    Host,
    /// Traits, keys, wire types and pure logic of one capability.
    Definition,
    /// One mechanism behind a definition.
    Provider,
    /// What decides about, or offers to the model, what definitions describe.
    Policy,
    /// The agent loop.
    Loop,
    /// What is run: the binary and the examples.
    App,
    /// What serves development only.
    Dev,
}

impl Layer {
    /// The layer that a package's manifest declares.
    ///
    /// # Errors
    /// When it declares none, or one that does not exist; the message holds the lines to add.
    pub fn of(package: &Package) -> Result<Self> {
        let declared = lookup(&package.manifest, &["package", "metadata", "dsh", "layer"]);
        let Some(name) = declared.and_then(toml::Value::as_str) else {
            bail!(
                "{}/Cargo.toml declares no layer: add `[package.metadata.dsh]` with `layer = \"…\"`",
                package.folder.display()
            );
        };
        Ok(match name {
            "host" => Self::Host,
            "definition" => Self::Definition,
            "provider" => Self::Provider,
            "policy" => Self::Policy,
            "loop" => Self::Loop,
            "app" => Self::App,
            "dev" => Self::Dev,
            other => bail!(
                "{}/Cargo.toml: there is no layer `{other}`: \
                 use host, definition, provider, policy, loop, app or dev",
                package.folder.display()
            ),
        })
    }
}

/// Checks the layer of every crate and every dependency between crates; returns a one-line summary.
///
/// Also: a crate's folder is named after it, no crate can be published, and no source of the host holds the word `dsh`.
///
/// # Errors
/// When a crate breaks one of these rules; the message names each crate and edge.
pub fn check(workspace: &Workspace) -> Result<String> {
    let mut problems = Problems::default();
    let mut crates = Vec::new();
    for package in workspace.packages() {
        check_manifest(workspace, package, &mut problems);
        match Layer::of(package) {
            Ok(layer) => crates.push((package, layer)),
            Err(error) => problems.push(error.to_string()),
        }
    }
    let mut edges = 0;
    for &(package, layer) in &crates {
        check_rank(package, layer, &mut problems);
        if layer == Layer::Host {
            check_host_words(workspace, package, &mut problems)?;
        }
        for (name, dev) in dependencies(workspace, package) {
            let Some(&(target, below)) = crates.iter().find(|(package, _)| package.name == name) else {
                continue;
            };
            edges += 1;
            if !allowed(package, layer, target, below, dev) {
                problems.push(format!(
                    "`{}` ({layer:?}) must not {}depend on `{name}` ({below:?})",
                    package.name,
                    if dev { "dev-" } else { "" },
                ));
            }
        }
    }
    problems.finish(REMEDY)?;
    Ok(format!("layers: {} crates, {edges} dependencies, all downward", crates.len()))
}

/// The packages from the lowest layer to the highest; definitions in their order, others by name.
///
/// # Errors
/// When a package declares no layer.
pub fn in_order(workspace: &Workspace) -> Result<Vec<&Package>> {
    let mut keyed = Vec::new();
    for package in workspace.packages() {
        keyed.push(((Layer::of(package)?, rank(package), package.name.as_str()), package));
    }
    keyed.sort_by_key(|(key, _)| *key);
    Ok(keyed.into_iter().map(|(_, package)| package).collect())
}

fn allowed(from: &Package, layer: Layer, to: &Package, below: Layer, dev: bool) -> bool {
    let down = match layer {
        Layer::Host => false,
        Layer::Definition => below == Layer::Host || (below == Layer::Definition && rank(to) < rank(from)),
        Layer::Provider | Layer::Policy | Layer::Loop => matches!(below, Layer::Host | Layer::Definition),
        Layer::App | Layer::Dev => true,
    };
    // Tests may look at whole lower layers, and may mount checkers. The host's tests may not: they would have to name what it
    // must not know. A provider that stands on another one's mechanism is tested on it.
    let reachable = below < layer || (layer == Layer::Provider && below == Layer::Provider);
    let for_tests =
        dev && layer != Layer::Host && (to.name == TESTKIT || to.name.ends_with(CHECKER) || reachable);
    let itself = dev && from.name == to.name;
    down || for_tests || itself
}

/// The place in [`DEFINITIONS`]; the same for all other crates.
fn rank(package: &Package) -> usize {
    DEFINITIONS.iter().position(|name| *name == package.name).unwrap_or(DEFINITIONS.len())
}

fn check_rank(package: &Package, layer: Layer, problems: &mut Problems) {
    let listed = rank(package) < DEFINITIONS.len();
    if layer == Layer::Definition && !listed {
        problems
            .push(format!("`{}` is a definition that the order of definitions does not list", package.name));
    }
    if layer != Layer::Definition && listed {
        problems.push(format!("`{}` is listed as a definition but declares layer {layer:?}", package.name));
    }
}

fn check_manifest(workspace: &Workspace, package: &Package, problems: &mut Problems) {
    let folder = package.folder.file_name().unwrap_or_default().to_string_lossy();
    if folder != package.name {
        problems.push(format!(
            "`{}` lives in `{}`: rename the folder or the package",
            package.name,
            package.folder.display()
        ));
    }
    let publish = match lookup(&package.manifest, &["package", "publish"]) {
        Some(toml::Value::Table(inherited)) if inherited.contains_key("workspace") => {
            lookup(workspace.manifest(), &["workspace", "package", "publish"])
        }
        own => own,
    };
    if publish.and_then(toml::Value::as_bool) != Some(false) {
        problems.push(format!(
            "`{}` can be published: add `publish = false` to {}/Cargo.toml",
            package.name,
            package.folder.display()
        ));
    }
}

fn check_host_words(workspace: &Workspace, package: &Package, problems: &mut Problems) -> Result<()> {
    for path in files_below(&workspace.root().join(&package.folder), ".rs")? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| says_dsh(line)) {
            problems.push(format!(
                "{}:{} says `dsh`, which the host must not know: {}",
                workspace.show(Path::new(&path)),
                index + 1,
                line.trim()
            ));
        }
    }
    Ok(())
}

/// Whether the line holds the word; `_` ends a word, so that `dsh_tools` counts.
fn says_dsh(line: &str) -> bool {
    line.split(|char: char| !char.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case("dsh"))
}

/// The names of all packages that a manifest depends on, and whether only its tests do.
fn dependencies(workspace: &Workspace, package: &Package) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let targets = package.manifest.get("target").and_then(toml::Value::as_table);
    let per_target =
        targets.into_iter().flat_map(|targets| targets.values()).filter_map(toml::Value::as_table);
    for table in std::iter::once(&package.manifest).chain(per_target) {
        for (section, dev) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let Some(section) = table.get(section).and_then(toml::Value::as_table) else { continue };
            for (key, value) in section {
                found.push((package_name(workspace, key, value), dev));
            }
        }
    }
    found
}

/// The package behind a dependency's key, which may be renamed here or in the workspace's table.
fn package_name(workspace: &Workspace, key: &str, value: &toml::Value) -> String {
    let renamed = |value: &toml::Value| value.get("package").and_then(toml::Value::as_str).map(str::to_owned);
    let inherited = || lookup(workspace.manifest(), &["workspace", "dependencies", key]).and_then(renamed);
    renamed(value).or_else(inherited).unwrap_or_else(|| key.to_owned())
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
