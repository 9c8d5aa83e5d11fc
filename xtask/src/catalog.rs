//! Catalogs: `docs/catalog` lists every event, service and intercept that the crates' `keys.rs` files declare.

pub mod keys;
pub mod pages;

use std::fs;

use anyhow::{Context as _, Result, ensure};
use similar::TextDiff;

use crate::layers;
use crate::problems::Problems;
use crate::workspace::{Package, Workspace};

use keys::KeyEntry;

const FOLDER: &str = "docs/catalog";

/// The keys of one crate.
#[derive(Debug)]
pub struct CrateKeys {
    /// The package's name.
    pub package: String,
    /// Its keys in source order.
    pub keys: Vec<KeyEntry>,
}

/// Writes the pages; returns a one-line summary.
///
/// # Errors
/// When a `keys.rs` cannot be read, when there is none, or when writing fails.
pub fn write(workspace: &Workspace) -> Result<String> {
    let crates = load(workspace)?;
    fs::create_dir_all(workspace.root().join(FOLDER)).with_context(|| format!("cannot create {FOLDER}"))?;
    for (path, text) in pages(&crates) {
        fs::write(workspace.root().join(&path), text).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(format!("{} written", summary(&crates)))
}

/// Compares the pages with what the keys say now; returns a one-line summary.
///
/// # Errors
/// When a page is stale or missing: the message holds a diff and the command that writes it.
pub fn check(workspace: &Workspace) -> Result<String> {
    let crates = load(workspace)?;
    let mut problems = Problems::default();
    for (path, text) in pages(&crates) {
        let Ok(current) = fs::read_to_string(workspace.root().join(&path)) else {
            problems.push(format!("{path} is missing"));
            continue;
        };
        if current != text {
            let diff = TextDiff::from_lines(&current, &text);
            problems.push(format!(
                "{path} is stale\n{}",
                diff.unified_diff().context_radius(0).header("file", "keys")
            ));
        }
    }
    problems.finish("regenerate the pages: cargo xtask catalog")?;
    Ok(format!("{} up to date", summary(&crates)))
}

fn load(workspace: &Workspace) -> Result<Vec<CrateKeys>> {
    let mut crates = Vec::new();
    for package in layers::in_order(workspace)? {
        let path = package.folder.join("src/keys.rs");
        let file = workspace.root().join(&path);
        if !package.folder.starts_with("crates") || !file.is_file() {
            continue;
        }
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", path.display()))?;
        let module = module(workspace, package)?;
        let keys = keys::parse(&module, &text).with_context(|| format!("in {}", path.display()))?;
        crates.push(CrateKeys { package: package.name.clone(), keys });
    }
    ensure!(
        !crates.is_empty(),
        "no crate has a src/keys.rs: that file is a crate's contract, and the catalog lists it"
    );
    Ok(crates)
}

/// The path under which a crate's users find its keys.
fn module(workspace: &Workspace, package: &Package) -> Result<String> {
    let path = package.folder.join("src/lib.rs");
    let text = fs::read_to_string(workspace.root().join(&path))
        .with_context(|| format!("cannot read {}", path.display()))?;
    let public = keys::are_public(&text).with_context(|| format!("in {}", path.display()))?;
    Ok(if public { format!("{}::keys", package.library()) } else { package.library() })
}

fn pages(crates: &[CrateKeys]) -> [(String, String); 2] {
    [
        (format!("{FOLDER}/events.md"), pages::events(crates)),
        (format!("{FOLDER}/services.md"), pages::services(crates)),
    ]
}

fn summary(crates: &[CrateKeys]) -> String {
    let keys: usize = crates.iter().map(|one| one.keys.len()).sum();
    format!("catalog: {keys} keys of {} crates", crates.len())
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
