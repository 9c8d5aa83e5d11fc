//! Everything in order: what must be green before a change lands.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::readme;
use crate::workspace::Workspace;

/// One command of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it is called in the messages.
    pub name: &'static str,
    /// The arguments of cargo.
    pub args: Vec<String>,
    /// Variables that it needs.
    pub env: Vec<(&'static str, &'static str)>,
}

impl Step {
    fn new(name: &'static str, line: &str) -> Self {
        let args = line.split_whitespace().skip(1).map(str::to_owned).collect();
        Self { name, args, env: Vec::new() }
    }

    /// The step as one would type it.
    pub fn line(&self) -> String {
        let env: String = self.env.iter().map(|(name, value)| format!("{name}=\"{value}\" ")).collect();
        format!("{env}cargo {}", self.args.join(" "))
    }

    fn command(&self, workspace: &Workspace) -> Command {
        let mut command = process::cargo(workspace.root());
        command.args(&self.args).envs(self.env.iter().copied());
        command
    }
}

/// The steps: format, lints, docs, and README.md's test command, which covers the repository's rules.
///
/// # Errors
/// When README.md does not show the test command.
pub fn steps(workspace: &Workspace) -> Result<Vec<Step>> {
    let test = readme::commands(workspace)?.swap_remove(1);
    Ok(vec![
        Step::new("format", "cargo fmt --all --check"),
        Step::new("lints", "cargo clippy --workspace --all-targets --all-features -- -D warnings"),
        Step {
            env: vec![("RUSTDOCFLAGS", "-D warnings")],
            ..Step::new("docs", "cargo doc --workspace --no-deps --all-features")
        },
        Step::new("tests", &test),
    ])
}

/// Runs the steps up to the first that fails, and prints how long each took.
///
/// # Errors
/// When a step fails; the message names it and the command that repeats it.
pub fn run(workspace: &Workspace) -> Result<String> {
    run_steps(workspace, &steps(workspace)?)
}

fn run_steps(workspace: &Workspace, steps: &[Step]) -> Result<String> {
    let mut times = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("==> {}/{} {}: {}", index + 1, steps.len(), step.name, step.line());
        let start = Instant::now();
        let status = step.command(workspace).status().context("cannot start cargo")?;
        times.push(format!("{} {:.1} s", step.name, start.elapsed().as_secs_f64()));
        if !status.success() {
            bail!("ci: `{}` failed ({}); repeat it with `{}`", step.name, times.join(", "), step.line());
        }
    }
    Ok(format!("ci: all green ({})", times.join(", ")))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    use super::*;

    #[test]
    fn the_last_step_is_the_test_command_of_the_readme() {
        let fixture = Fixture::new();
        assert!(steps(&fixture.load()).unwrap_err().to_string().contains("README.md"));
        fixture.write("README.md", "```sh\ncargo run\ncargo test --workspace\n```\n");
        let lines: Vec<_> = steps(&fixture.load()).unwrap().iter().map(Step::line).collect();
        let expected = [
            "cargo fmt --all --check",
            "cargo clippy --workspace --all-targets --all-features -- -D warnings",
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps --all-features",
            "cargo test --workspace",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_first_failing_step_ends_the_run_and_is_named() {
        let steps = [
            Step::new("first", "cargo --version"),
            Step::new("second", "cargo no-such-step"),
            Step::new("third", "cargo -V"),
        ];
        let error = run_steps(&Fixture::new().load(), &steps).unwrap_err().to_string();
        assert!(error.starts_with("ci: `second` failed (first "), "{error}");
        assert!(error.ends_with("repeat it with `cargo no-such-step`"), "{error}");
        assert!(!error.contains("third"), "{error}");
    }
}
