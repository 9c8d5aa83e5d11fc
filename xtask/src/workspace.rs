//! The workspace: its root, its packages and their manifests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The cargo workspace that the rules look at, read once.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    manifest: toml::Table,
    packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Debug)]
pub struct Package {
    /// The `name` in its manifest.
    pub name: String,
    /// Its folder, relative to the workspace root.
    pub folder: PathBuf,
    /// Its `Cargo.toml`.
    pub manifest: toml::Table,
}

impl Workspace {
    /// Finds the workspace that holds `from` by walking up, and loads it.
    ///
    /// # Errors
    /// When no folder above `from` has a `Cargo.toml` with a `[workspace]` section, or when loading fails.
    pub fn find(from: &Path) -> Result<Self> {
        for folder in from.ancestors() {
            let manifest = folder.join("Cargo.toml");
            if manifest.is_file() && read_manifest(&manifest)?.contains_key("workspace") {
                return Self::load(folder);
            }
        }
        bail!("no cargo workspace above {}: run `cargo xtask` inside the repository", from.display());
    }

    /// Loads the workspace whose root manifest is `root/Cargo.toml`.
    ///
    /// # Errors
    /// When a manifest is missing, is not TOML, or has no package name.
    pub fn load(root: &Path) -> Result<Self> {
        let manifest = read_manifest(&root.join("Cargo.toml"))?;
        let members = lookup(&manifest, &["workspace", "members"])
            .and_then(toml::Value::as_array)
            .context("Cargo.toml has no `workspace.members` list")?;
        let mut packages = Vec::new();
        for member in members.iter().filter_map(toml::Value::as_str) {
            for folder in expand(root, member)? {
                packages.push(Package::load(root, folder)?);
            }
        }
        Ok(Self { root: root.to_path_buf(), manifest, packages })
    }

    /// The folder that holds the root manifest.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The root manifest.
    pub fn manifest(&self) -> &toml::Table {
        &self.manifest
    }

    /// The members, in the order of `workspace.members`, folders of a glob by name.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// Whether a path is below a folder that `workspace.exclude` keeps out, so that no command of the workspace runs it.
    pub fn excludes(&self, path: &Path) -> bool {
        let excluded = lookup(&self.manifest, &["workspace", "exclude"]).and_then(toml::Value::as_array);
        let folders = excluded.into_iter().flatten().filter_map(toml::Value::as_str);
        folders.into_iter().any(|folder| path.starts_with(self.root.join(folder)))
    }

    /// The text of a file that a rule cannot do without; `remedy` ends the message when it is missing.
    ///
    /// # Errors
    /// When the file is missing or is not UTF-8.
    pub fn read(&self, path: &str, remedy: &str) -> Result<String> {
        fs::read_to_string(self.root.join(path)).with_context(|| format!("cannot read {path}: {remedy}"))
    }

    /// `path` as the messages show it: relative to the root, with `/`.
    pub fn show(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }
}

impl Package {
    fn load(root: &Path, folder: PathBuf) -> Result<Self> {
        let manifest = read_manifest(&root.join(&folder).join("Cargo.toml")).with_context(|| {
            format!("the workspace's member {} has no manifest: add it", folder.display())
        })?;
        let name = lookup(&manifest, &["package", "name"])
            .and_then(toml::Value::as_str)
            .with_context(|| format!("{}/Cargo.toml has no `package.name`", folder.display()))?
            .to_owned();
        Ok(Self { name, folder, manifest })
    }

    /// The name that Rust code uses for its library.
    pub fn library(&self) -> String {
        let name = lookup(&self.manifest, &["lib", "name"]).and_then(toml::Value::as_str);
        name.unwrap_or(&self.name).replace('-', "_")
    }
}

/// The value at a path of nested tables.
pub fn lookup<'a>(table: &'a toml::Table, path: &[&str]) -> Option<&'a toml::Value> {
    let (last, parents) = path.split_last()?;
    let mut table = table;
    for key in parents {
        table = table.get(*key)?.as_table()?;
    }
    table.get(*last)
}

/// All files below `folder` whose name ends in `extension`, sorted; build output and version control are skipped.
///
/// # Errors
/// When a folder cannot be read; a `folder` that is missing holds no files.
pub fn files_below(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        for path in entries(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !path.is_symlink() {
                if !matches!(name.as_str(), "target" | ".git" | "node_modules") {
                    open.push(path);
                }
            } else if name.ends_with(extension) && path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What a folder holds, sorted by name.
///
/// # Errors
/// When the folder cannot be read.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let mut paths = read().with_context(|| format!("cannot list {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

fn read_manifest(path: &Path) -> Result<toml::Table> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().with_context(|| format!("{} is not valid TOML", path.display()))
}

/// The folders that a member pattern stands for; like cargo, a glob passes over folders without a manifest.
fn expand(root: &Path, member: &str) -> Result<Vec<PathBuf>> {
    let Some(parent) = member.strip_suffix("/*") else {
        return Ok(vec![PathBuf::from(member)]);
    };
    let mut folders = Vec::new();
    for path in entries(&root.join(parent))? {
        if path.join("Cargo.toml").is_file()
            && let Some(name) = path.file_name()
        {
            folders.push(Path::new(parent).join(name));
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    use super::*;

    #[test]
    fn members_are_found_from_a_folder_below_the_root() {
        let fixture = Fixture::new();
        fixture.package("crates/dsh-tools", "definition", "").write("crates/empty/notes.md", "");
        let found = Workspace::find(&fixture.root().join("crates/dsh-tools")).unwrap();
        let names: Vec<_> = found.packages().iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["dsh-tools", "examples", "xtask"]);
    }

    #[test]
    fn a_folder_outside_any_workspace_is_told_where_to_go() {
        let folder = tempfile::tempdir().unwrap();
        let error = Workspace::find(folder.path()).unwrap_err().to_string();
        assert!(error.contains("run `cargo xtask` inside the repository"), "{error}");
    }
}
