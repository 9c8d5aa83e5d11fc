//! Speed: runs our benchmarks, their hand-written floors and the peers, and prints them as one table.
//!
//! Modules in reading order:
//!
//! - [`works`]: what is measured and within which reach of its floor it is to stay.
//! - [`figure`]: one measured figure, and whether it is within its reach.
//! - [`criterion`] and [`lines`]: reading what criterion and the peers leave behind.
//! - [`peers`]: running the peers.
//! - [`report`]: the table, and `bench.json`.
//! - [`machine`]: what it ran on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail, ensure};

use crate::process;
use crate::workspace::Workspace;

pub mod works;

pub mod figure;

pub mod criterion;

pub mod lines;

pub mod peers;

pub mod report;

pub mod machine;

use figure::Figure;
use lines::Line;
use report::Report;

/// How much is run.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Fewer and shorter samples.
    pub quick: bool,
    /// Also run the peers.
    pub peers: bool,
    /// Only the works whose names contain this.
    pub only: Option<String>,
}

impl Plan {
    fn takes(&self, work: &str) -> bool {
        self.only.as_deref().is_none_or(|word| work.contains(word))
    }
}

/// The figures of one run: ours, the floors, and those of the peers.
#[derive(Debug, Default)]
pub struct Figures {
    /// Ours, by the name of the work.
    pub ours: BTreeMap<String, Figure>,
    /// The floors, by the name of the work.
    pub floors: BTreeMap<String, Figure>,
    /// The peers' lines, in the order in which they came.
    pub peers: Vec<Line>,
    /// Which peers were left out, and why.
    pub left_out: Vec<String>,
}

/// Runs the benchmarks and writes `bench.json` into the target folder.
///
/// # Errors
/// When a benchmark does not build, fails, or prints what is not understood. A peer that fails is a line of the report.
pub fn run(workspace: &Workspace, plan: &Plan) -> Result<Report> {
    let works: Vec<_> = works::WORKS.iter().filter(|work| plan.takes(work.name)).collect();
    ensure!(
        !works.is_empty(),
        "no work is called that: `cargo xtask bench --help`, or docs/performance.md, names them"
    );
    let target = target_folder(workspace.root())?;
    let mut figures = Figures::default();
    run_criterion(workspace, plan, &target, &mut figures)?;
    run_sizes(workspace, plan, &mut figures)?;
    if plan.peers {
        let names: Vec<&str> = works.iter().map(|work| work.name).collect();
        peers::run(workspace, plan, &names, &mut figures);
    }
    let report = Report::new(figures, machine::facts());
    let file = target.join("bench.json");
    fs::write(&file, report.json()).with_context(|| format!("cannot write {}", file.display()))?;
    eprintln!("wrote {}", file.display());
    Ok(report)
}

/// Where cargo puts what it builds: `CARGO_TARGET_DIR` or what the configuration says.
fn target_folder(root: &Path) -> Result<PathBuf> {
    let output = process::cargo(root)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("cannot start cargo")?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("`cargo metadata` printed no JSON")?;
    let folder = metadata["target_directory"].as_str().context("`cargo metadata` names no target folder")?;
    Ok(PathBuf::from(folder))
}

fn run_criterion(workspace: &Workspace, plan: &Plan, target: &Path, figures: &mut Figures) -> Result<()> {
    let home = target.join("criterion");
    let start = SystemTime::now();
    eprintln!("benchmarks ({}) ..", if plan.quick { "about a minute" } else { "about four minutes" });
    for package in PACKAGES.iter().filter(|package| package.has(plan)) {
        let mut command = package.bench(workspace, package.timed);
        command.env("CRITERION_HOME", &home).args(["--", "--noplot", "--quiet"]);
        if plan.quick {
            command.args(["--warm-up-time", "0.1", "--measurement-time", "0.3", "--sample-size", "10"]);
        }
        command.args(&plan.only);
        // What criterion says about each is progress here: its figures are read from its files.
        let output = command.stdout(Stdio::from(std::io::stderr())).status().context("cannot start cargo")?;
        ensure!(output.success(), "a benchmark failed: its complaint is above");
    }
    for measured in criterion::measured_since(&home, start)? {
        let side = match measured.side.as_str() {
            "ours" => &mut figures.ours,
            "floor" => &mut figures.floors,
            other => bail!("`{}/{other}` is neither `ours` nor `floor`: see measure.rs", measured.work),
        };
        side.insert(measured.work, measured.figure);
    }
    Ok(())
}

fn run_sizes(workspace: &Workspace, plan: &Plan, figures: &mut Figures) -> Result<()> {
    eprintln!("threads and memory ..");
    for package in PACKAGES.iter().filter(|package| package.has(plan)) {
        let mut command = package.bench(workspace, package.printing);
        command.arg("--").args(plan.quick.then_some("--quick")).args(&plan.only);
        if !plan.peers {
            command.env_remove(peers::REFERENCE_MODULES);
        }
        let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
        ensure!(
            output.status.success(),
            "a bench target of {} failed: its complaint is above",
            package.printing.join(" ")
        );
        for line in lines::read(&String::from_utf8_lossy(&output.stdout))? {
            match line.outcome {
                Ok(figure) if line.peer == OURS => drop(figures.ours.insert(line.work, figure)),
                Ok(_) => figures.peers.push(line),
                Err(error) => bail!("{} failed: {error}", line.work),
            }
        }
    }
    Ok(())
}

/// What lines of our own figures say for a peer.
const OURS: &str = "ours";

/// A package of benchmarks.
struct Package {
    name: &'static str,
    /// What the names of its works begin with; nothing where they are all that are nobody else's.
    prefixes: &'static [&'static str],
    /// The targets that criterion times.
    timed: &'static [&'static str],
    /// The targets that print lines, of ours and of what they run beside.
    printing: &'static [&'static str],
}

const PACKAGES: [Package; 2] = [
    Package {
        name: "cordis-bench",
        prefixes: &[],
        timed: &["dispatch", "services", "lifecycle"],
        printing: &["sizes"],
    },
    Package {
        name: "dsh-bench",
        prefixes: &["session-", "tool-call", "spawn/", "stream/", "model/", "agent/", "run/"],
        timed: &["sessions", "tool-calls", "processes", "models", "agents"],
        printing: &["session-sizes", "runs"],
    },
];

impl Package {
    /// Whether it has a work that the plan takes.
    fn has(&self, plan: &Plan) -> bool {
        works::WORKS.iter().filter(|work| plan.takes(work.name)).any(|work| self.owns(work.name))
    }

    fn owns(&self, work: &str) -> bool {
        match self.prefixes {
            [] => !PACKAGES.iter().flat_map(|other| other.prefixes).any(|prefix| work.starts_with(prefix)),
            prefixes => prefixes.iter().any(|prefix| work.starts_with(prefix)),
        }
    }

    fn bench(&self, workspace: &Workspace, targets: &[&str]) -> Command {
        let mut command = process::cargo(workspace.root());
        command.args(["bench", "--quiet", "--package", self.name]);
        command.args(targets.iter().flat_map(|target| ["--bench", target]));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_is_of_one_package() {
        for work in works::WORKS {
            let owners: Vec<_> = PACKAGES.iter().filter(|package| package.owns(work.name)).collect();
            assert_eq!(owners.len(), 1, "{}", work.name);
        }
    }
}
