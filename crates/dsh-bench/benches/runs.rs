//! Whole runs of the program, and of the reference beside it where it is installed: three commands on a scripted model, from the
//! start of the process to its end, with the most memory that it took. Prints a line of JSON for each work.
//!
//! The two take turns. `DSH_REFERENCE_MODULES` says where the reference is: see `xtask/peers/node/session/README.md`.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up has nothing to report")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use dsh_testkit::{MockServer, Script};
use tempfile::TempDir;

const REFERENCE: &str = "@deepseek-ai/dsh 0.1.0-rc.8";
const SCRIPT: &str = include_str!("../../dsh-testkit/scripts/three_bash.json");

/// What a run took.
struct Run {
    ns: f64,
    /// The most memory that the process held, in bytes.
    bytes: f64,
}

fn main() {
    let (mut only, mut quick) = (String::new(), false);
    for arg in std::env::args().skip(1).filter(|arg| arg != "--bench") {
        if arg == "--quick" { quick = true } else { only = arg }
    }
    let runs = if quick { 5 } else { 21 };
    let takes = |work: &str| work.contains(&only);
    if !["run/version", "run/three-bash", "run/three-bash/memory"].into_iter().any(takes) {
        return;
    }
    let dsh = built();
    if takes("run/version") {
        let times: Vec<f64> = (0..runs * 3).map(|_| timed(Command::new(&dsh).arg("--version")).ns).collect();
        line("ours", "run/version", "ns", times);
    }
    if takes("run/three-bash") || takes("run/three-bash/memory") {
        let reference = std::env::var_os("DSH_REFERENCE_MODULES").map(PathBuf::from);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            ours.push(task(|workspace| {
                let mut command = Command::new(&dsh);
                command.arg("run things").current_dir(workspace);
                command
            }));
            if let Some(modules) = &reference {
                theirs.push(task(|workspace| {
                    let mut command = Command::new(modules.join(".bin/dsh"));
                    command.args(["--profile", "headless", "run things"]).current_dir(workspace);
                    let path = std::env::var("PATH").unwrap_or_default();
                    command.env("PATH", format!("{}:{path}", modules.join(".bin").display()));
                    command
                }));
            }
        }
        for (peer, runs) in [("ours", ours), (REFERENCE, theirs)] {
            if !runs.is_empty() {
                line(peer, "run/three-bash", "ns", runs.iter().map(|run| run.ns).collect());
                line(peer, "run/three-bash/memory", "bytes", runs.iter().map(|run| run.bytes).collect());
            }
        }
    }
}

/// The program, built as README.md's first command builds it.
fn built() -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "dsh"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .status()
        .unwrap();
    assert!(status.success(), "dsh does not build");
    // This program is in the folder beside it.
    let own = std::env::current_exe().unwrap();
    own.parent().and_then(Path::parent).unwrap().join("dsh")
}

/// One run on a server, a home and a workspace of its own.
fn task(command: impl FnOnce(&Path) -> Command) -> Run {
    let server = MockServer::start(Script::parse(SCRIPT).unwrap()).unwrap();
    let (home, workspace) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut command = command(workspace.path());
    command
        .env("HOME", home.path())
        .env("DSH_HOME", home.path().join(".dsh"))
        .env("DEEPSEEK_BASE_URL", server.base_url())
        .env("DEEPSEEK_API_KEY", "mock-key")
        .env("DSH_PERMISSION_MODE", "danger-full-access");
    let run = timed(&mut command);
    let asked = server.requests().len();
    assert!(asked >= 4, "it asked {asked} times");
    run
}

/// GNU time knows the most memory of a process that has ended.
fn timed(command: &mut Command) -> Run {
    let report = tempfile::NamedTempFile::new().unwrap();
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["-f", "%M", "-o"]).arg(report.path()).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        timed.current_dir(folder);
    }
    timed.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let start = Instant::now();
    let status = timed.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let ns = start.elapsed().as_nanos() as f64;
    assert!(status.unwrap().success(), "{command:?} failed");
    let peak: f64 = std::fs::read_to_string(report.path()).unwrap().trim().parse().unwrap();
    Run { ns, bytes: peak * 1024.0 }
}

/// The median, and how far the slow ones are from the quick ones.
fn line(peer: &str, work: &str, unit: &str, mut figures: Vec<f64>) {
    figures.sort_by(f64::total_cmp);
    let at = |part: f64| figures[((figures.len() - 1) as f64 * part) as usize];
    let (median, spread, samples) = (at(0.5), (at(0.9) - at(0.1)) / at(0.5), figures.len());
    println!(
        r#"{{"peer":"{peer}","work":"{work}","{unit}":{median:.0},"spread":{spread:.4},"samples":{samples}}}"#
    );
}
