//! Targets: a library that has no tests inside says so, and is not compiled and linked a second time for nothing; one that has
//! some does not, or they would not run.

use std::fs;

use anyhow::{Context as _, Result};

use crate::problems::Problems;
use crate::workspace::{Package, Workspace, files_below, lookup};

const REMEDY: &str =
    "a library whose src has tests must not say `test = false` under `[lib]`, and one without must";

/// Checks every library of the workspace; returns a one-line summary.
///
/// # Errors
/// When a library says `test = false` and has tests in `src`, or has none and does not say so; the message names each.
pub fn check(workspace: &Workspace) -> Result<String> {
    let mut problems = Problems::default();
    let (mut libraries, mut without) = (0, 0);
    for package in workspace.packages() {
        if !workspace.root().join(&package.folder).join("src/lib.rs").is_file() {
            continue;
        }
        libraries += 1;
        let has = has_tests(workspace, package)?;
        without += u32::from(!has);
        let off = lookup(&package.manifest, &["lib", "test"]).and_then(toml::Value::as_bool) == Some(false);
        let manifest = package.folder.join("Cargo.toml");
        match (has, off) {
            (true, true) => problems.push(format!(
                "{} says `test = false`, and the tests in its src would not run: remove that line",
                manifest.display()
            )),
            (false, false) => problems.push(format!(
                "{} has no tests in its src: say `test = false` under `[lib]`",
                manifest.display()
            )),
            _ => {}
        }
    }
    problems.finish(REMEDY)?;
    Ok(format!("targets: {libraries} libraries, {without} of them without tests inside"))
}

fn has_tests(workspace: &Workspace, package: &Package) -> Result<bool> {
    for path in files_below(&workspace.root().join(&package.folder).join("src"), "rs")? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if text.lines().any(|line| is_test(line.trim_start())) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a line makes a test, by an attribute or by a macro.
fn is_test(line: &str) -> bool {
    ["#[test", "#[tokio::test", "proptest!"].iter().any(|beginning| line.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    use super::*;

    fn library(manifest: &str, source: &str) -> Result<String> {
        let fixture = Fixture::new();
        fixture.write("crates/a/Cargo.toml", &format!("[package]\nname = \"a\"\n{manifest}"));
        fixture.write("crates/a/src/lib.rs", source);
        check(&fixture.load())
    }

    #[test]
    fn what_a_library_says_of_its_tests_is_true() {
        let (tested, plain) = ("#[cfg(test)]\nmod tests {\n    #[test]\n    fn it() {}\n}\n", "//! x\n");
        assert!(library("", tested).is_ok());
        assert!(library("[lib]\ntest = false\n", plain).is_ok());
        let hidden = library("[lib]\ntest = false\n", tested).unwrap_err().to_string();
        assert!(hidden.contains("crates/a/Cargo.toml says `test = false`"), "{hidden}");
        let idle = library("", plain).unwrap_err().to_string();
        assert!(idle.contains("crates/a/Cargo.toml has no tests"), "{idle}");
    }
}
