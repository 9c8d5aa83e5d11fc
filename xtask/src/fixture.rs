//! A throw-away workspace for the tests that prove a rule goes red.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::Workspace;

const ROOT: &str = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\", \"examples\", \"xtask\"]\n\
                    exclude = [\"xtask/peers\"]\n\n\
                    [workspace.package]\npublish = false\n";

/// A temporary folder laid out like the repository; removed when dropped.
pub(crate) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(fixture.root().join("crates")).unwrap();
        fixture.write("Cargo.toml", ROOT).package("examples", "app", "").package("xtask", "dev", "");
        fixture
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes the manifest of a member named after its folder; `rest` follows the metadata section.
    pub(crate) fn package(&self, folder: &str, layer: &str, rest: &str) -> &Self {
        let name = folder.rsplit('/').next().unwrap();
        let manifest = format!(
            "[package]\nname = \"{name}\"\npublish.workspace = true\n\n\
             [package.metadata.dsh]\nlayer = \"{layer}\"\n\n{rest}"
        );
        self.write(&format!("{folder}/Cargo.toml"), &manifest)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) fn load(&self) -> Workspace {
        Workspace::load(self.root()).unwrap()
    }
}
