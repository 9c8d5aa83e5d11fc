//! Examples: each is short, runs, and prints what `examples/expected` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use similar::TextDiff;

use crate::problems::Problems;
use crate::process;
use crate::workspace::{Workspace, entries};

const SOURCES: &str = "examples/examples";
const EXPECTED: &str = "examples/expected";
const MAX_LINES: usize = 80;
const RUN_LIMIT: Duration = Duration::from_secs(60);

/// What to do with the output of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Compare it with the expected file.
    Compare,
    /// Write it to the expected file.
    Bless,
}

/// Builds and runs every example; returns a one-line summary.
///
/// # Errors
/// When an example is too long, does not build, does not run to a good end within a minute, or prints something else
/// than expected (the message holds a diff); when an expected file belongs to no example.
pub fn check(workspace: &Workspace, mode: Mode) -> Result<String> {
    let sources = sources(workspace)?;
    let binaries = build(workspace)?;
    run(workspace, &sources, &binaries, mode)
}

fn run(
    workspace: &Workspace,
    sources: &BTreeMap<String, PathBuf>,
    binaries: &BTreeMap<String, PathBuf>,
    mode: Mode,
) -> Result<String> {
    let mut problems = Problems::default();
    for (name, source) in sources {
        if let Err(error) = check_length(workspace, source) {
            problems.push(error.to_string());
        }
        match binaries
            .get(name)
            .with_context(|| format!("cargo builds no example of this name: see {SOURCES}"))
        {
            Ok(binary) => {
                if let Err(error) = run_one(workspace, name, binary, mode) {
                    problems.push(format!("example `{name}` {error:#}"));
                }
            }
            Err(error) => problems.push(format!("example `{name}`: {error:#}")),
        }
    }
    for stray in stray_expectations(workspace, sources)? {
        problems.push(format!("{stray} belongs to no example: delete it"));
    }
    problems.finish("when the new output is right: cargo xtask examples --bless")?;
    let verb = match mode {
        Mode::Compare => "print what is expected",
        Mode::Bless => "blessed",
    };
    Ok(format!("examples: {} {verb}", sources.len()))
}

/// The examples' sources by name.
fn sources(workspace: &Workspace) -> Result<BTreeMap<String, PathBuf>> {
    let folder = workspace.root().join(SOURCES);
    ensure!(folder.is_dir(), "{SOURCES} is missing: the examples live there, one file each");
    let mut sources = BTreeMap::new();
    for path in entries(&folder)? {
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(name) = path.file_stem()
        {
            sources.insert(name.to_string_lossy().into_owned(), path);
        }
    }
    ensure!(!sources.is_empty(), "{SOURCES} holds no example: add NAME.rs");
    Ok(sources)
}

/// Builds all examples at once and gives their binaries by name.
fn build(workspace: &Workspace) -> Result<BTreeMap<String, PathBuf>> {
    let output = process::cargo(workspace.root())
        .args(["build", "--examples", "-p", "examples", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::piped())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "the examples do not build: run `cargo build --examples -p examples`\n{}",
            complaint.trim_end()
        );
    }
    let mut binaries = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value =
            serde_json::from_str(line).context("cargo printed something else than JSON")?;
        let is_example = message["target"]["kind"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|kind| kind == "example"));
        if let (true, Some(name), Some(binary)) =
            (is_example, message["target"]["name"].as_str(), message["executable"].as_str())
        {
            binaries.insert(name.to_owned(), PathBuf::from(binary));
        }
    }
    Ok(binaries)
}

fn check_length(workspace: &Workspace, source: &Path) -> Result<()> {
    let text = fs::read_to_string(source).with_context(|| format!("cannot read {}", source.display()))?;
    let lines = text.lines().count();
    ensure!(
        lines <= MAX_LINES,
        "{} has {lines} lines: an example has at most {MAX_LINES}",
        workspace.show(source)
    );
    Ok(())
}

fn run_one(workspace: &Workspace, name: &str, binary: &Path, mode: Mode) -> Result<()> {
    let mut command = Command::new(binary);
    // The output must not depend on how the developer likes logs.
    command
        .current_dir(workspace.root())
        .env_remove("RUST_LOG")
        .env_remove("RUST_BACKTRACE")
        .env("NO_COLOR", "1");
    let finished = process::finish_within(&mut command, RUN_LIMIT)?;
    if !finished.status.success() {
        bail!("ended with {}\n{}", finished.status, finished.stderr.trim_end());
    }
    let path = format!("{EXPECTED}/{name}.txt");
    let file = workspace.root().join(&path);
    match mode {
        Mode::Bless => {
            fs::create_dir_all(workspace.root().join(EXPECTED))
                .with_context(|| format!("cannot create {EXPECTED}"))?;
            fs::write(&file, &finished.stdout).with_context(|| format!("cannot write {path}"))
        }
        Mode::Compare if !file.exists() => bail!("has no expected output: {path} is missing"),
        Mode::Compare => {
            let expected = fs::read_to_string(&file).with_context(|| format!("cannot read {path}"))?;
            compare(&path, &expected, &finished.stdout)
        }
    }
}

fn compare(path: &str, expected: &str, printed: &str) -> Result<()> {
    if expected == printed {
        return Ok(());
    }
    let diff = TextDiff::from_lines(expected, printed);
    bail!("prints something else\n{}", diff.unified_diff().context_radius(3).header(path, "printed"));
}

fn stray_expectations(workspace: &Workspace, sources: &BTreeMap<String, PathBuf>) -> Result<Vec<String>> {
    let folder = workspace.root().join(EXPECTED);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let files = entries(&folder)?;
    let is_stray =
        |path: &&PathBuf| path.file_stem().is_none_or(|stem| !sources.contains_key(&*stem.to_string_lossy()));
    Ok(files.iter().filter(is_stray).map(|path| workspace.show(path)).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use crate::fixture::Fixture;

    use super::*;

    /// Runs with programs of the system in the place of built examples.
    fn run_with(fixture: &Fixture, program: &str, mode: Mode) -> Result<String> {
        let workspace = fixture.load();
        let sources = sources(&workspace)?;
        let binaries = sources.keys().map(|name| (name.clone(), PathBuf::from(program))).collect();
        run(&workspace, &sources, &binaries, mode)
    }

    fn fixture() -> Fixture {
        let fixture = Fixture::new();
        fixture
            .write("examples/examples/hello.rs", "fn main() {}\n")
            .write("examples/expected/hello.txt", "hello\n");
        fixture
    }

    #[test]
    fn another_output_is_reported_with_a_diff_and_blessing_accepts_it() {
        let fixture = fixture();
        let error = run_with(&fixture, "echo", Mode::Compare).unwrap_err().to_string();
        assert!(error.contains("example `hello` prints something else"), "{error}");
        assert!(error.contains("--- examples/expected/hello.txt\n    +++ printed\n"), "{error}");
        assert!(error.contains("-hello\n    +\n"), "{error}");
        assert!(error.ends_with("cargo xtask examples --bless"), "{error}");

        assert_eq!(run_with(&fixture, "echo", Mode::Bless).unwrap(), "examples: 1 blessed");
        assert_eq!(fixture.read("examples/expected/hello.txt"), "\n");
        assert_eq!(run_with(&fixture, "echo", Mode::Compare).unwrap(), "examples: 1 print what is expected");
    }

    #[test]
    fn an_example_that_fails_is_rejected_even_when_blessing() {
        let error = run_with(&fixture(), "false", Mode::Bless).unwrap_err().to_string();
        assert!(error.contains("example `hello` ended with exit status: 1"), "{error}");
    }

    #[test]
    fn an_example_that_is_too_long_is_rejected() {
        let fixture = fixture();
        fixture.write("examples/examples/hello.rs", &"\n".repeat(81));
        let error = run_with(&fixture, "echo", Mode::Bless).unwrap_err().to_string();
        assert!(error.contains("examples/examples/hello.rs has 81 lines"), "{error}");
    }

    #[test]
    fn missing_and_stray_expectations_are_rejected() {
        let fixture = fixture();
        fs::rename(
            fixture.root().join("examples/expected/hello.txt"),
            fixture.root().join("examples/expected/helo.txt"),
        )
        .unwrap();
        let error = run_with(&fixture, "echo", Mode::Compare).unwrap_err().to_string();
        assert!(error.contains("example `hello` has no expected output"), "{error}");
        assert!(error.contains("examples/expected/helo.txt belongs to no example"), "{error}");
    }

    #[test]
    fn a_repository_without_examples_is_told_where_they_live() {
        let error = check(&Fixture::new().load(), Mode::Compare).unwrap_err().to_string();
        assert!(error.contains("examples/examples is missing"), "{error}");
    }
}
