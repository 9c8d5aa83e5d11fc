//! Running the peers: packages outside of the workspace, each with a program that prints lines of JSON.

use std::path::Path;
use std::process::{Command, Stdio};

use super::figure::Figure;
use super::lines::{self, Line};
use super::{Figures, Plan};
use crate::process;
use crate::workspace::Workspace;

/// The packages of the registry of node.
const NODE_PEERS: [&str; 2] = ["cordis", "@deepseek-ai/cordis"];

/// The reference, and the version that its scripts are written for.
const REFERENCE: &str = "@deepseek-ai/dsh 0.1.0-rc.8";

/// Says where the reference is installed.
pub const REFERENCE_MODULES: &str = "DSH_REFERENCE_MODULES";

/// What the names of the works of the tool pipeline begin with.
const TOOL_CALL: &str = "tool-call/";

/// Runs what can be run of the peers; what cannot is said in one line and left out.
pub fn run(workspace: &Workspace, plan: &Plan, works: &[&str], figures: &mut Figures) {
    let folder = workspace.root().join("xtask/peers");
    let mut note = |peer: &str, outcome: Result<Vec<Line>, String>| match outcome {
        Ok(lines) => figures.peers.extend(lines),
        Err(reason) => {
            eprintln!("{peer}: left out: {reason}");
            figures.left_out.push(format!("{peer}: {reason}"));
        }
    };
    if works.iter().any(|work| is_of_hosts(work)) {
        note("peers in Rust", rust(&folder.join("rust"), plan, works));
        hosts_in_node(&folder.join("node"), plan, works, &mut note);
    }
    let node = folder.join("node");
    if works.iter().any(|work| work.starts_with("session-open/")) {
        note("the reference's sessions", reference_sessions(&node.join("session"), plan));
    }
    if works.iter().any(|work| work.starts_with(TOOL_CALL)) {
        note("the reference's tool calls", reference_tool_calls(&node.join("tools"), plan));
    }
}

/// Whether a work is one of plugin hosts, and not one of the agent harness.
fn is_of_hosts(work: &str) -> bool {
    let harness = ["session-", "tool-call", "spawn/", "stream/", "model/", "agent/", "run/"];
    !harness.iter().any(|prefix| work.starts_with(prefix))
}

fn hosts_in_node(
    folder: &Path,
    plan: &Plan,
    works: &[&str],
    note: &mut impl FnMut(&str, Result<Vec<Line>, String>),
) {
    if let Err(reason) = install(folder) {
        return note("peers in node", Err(reason));
    }
    for package in NODE_PEERS {
        // The script's own version of node, which npm installed with the peers.
        let mut command = Command::new(folder.join("node_modules/.bin/node"));
        command.current_dir(folder).args(["bench.mjs", package]);
        note(package, print(command, package, plan, works));
    }
}

/// What a script prints under the reference's own node, which is installed by hand: see `xtask/peers/node/session/README.md`.
fn reference(folder: &Path, args: &[&str]) -> Result<String, String> {
    let modules = std::env::var_os(REFERENCE_MODULES)
        .ok_or("DSH_REFERENCE_MODULES does not say where the reference is installed")?;
    let node = Path::new(&modules).join(".bin/node");
    let output = Command::new(&node).current_dir(folder).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("node cannot be started: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            Err(String::from_utf8_lossy(&output.stderr).lines().next_back().unwrap_or("it failed").to_owned())
        }
    }
}

/// What a call costs in the reference's pipeline.
fn reference_tool_calls(folder: &Path, plan: &Plan) -> Result<Vec<Line>, String> {
    let args: &[&str] = if plan.quick { &["bench.mjs", "--quick"] } else { &["bench.mjs"] };
    tool_calls(&reference(folder, args)?)
}

/// The lines of `tools/bench.mjs`. Of the wall's clock and the processor's the one that is kinder to the reference: the
/// first counts what others do on a busy machine, the second its collector's threads.
fn tool_calls(text: &str) -> Result<Vec<Line>, String> {
    let parse = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let name = value["name"].as_str().ok_or_else(|| format!("`{line}` has no name"))?;
        let median = value["median_ns"].as_f64().ok_or_else(|| format!("`{line}` has no time"))?;
        let cpu = value["cpu_ns"].as_f64().unwrap_or(median);
        let runs = value["runs"].as_u64().unwrap_or(1) as usize;
        let outcome = Ok(Figure::around(median.min(cpu), 0.0, runs));
        Ok(Line { peer: REFERENCE.to_owned(), work: format!("{TOOL_CALL}{name}"), outcome })
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

/// How long the reference needs to open the logs that it wrote itself.
fn reference_sessions(folder: &Path, plan: &Plan) -> Result<Vec<Line>, String> {
    let run = |args: &[&str]| reference(folder, args);
    let home = std::env::temp_dir().join(format!("dsh-bench-sessions-{}", std::process::id()));
    let runs = if plan.quick { "3" } else { "7" };
    let mut lines = Vec::new();
    for (work, compression, pack) in
        [("plain", "none", "false"), ("packed", "none", "true"), ("zstd", "zstd", "true")]
    {
        let root = home.join(work);
        let root = root.to_str().ok_or("the temporary folder has a name that is no text")?;
        let written =
            run(&["write.mjs", root, "--compression", compression, "--pack", pack, "--events", "100000"]);
        let timed = written.and_then(|_| {
            run(&["--expose-gc", "open-time.mjs", root, "bulk", "--runs", runs, "--compression", compression])
        });
        let figure = timed.and_then(|text| {
            let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            value["inspect_ms"].as_f64().ok_or_else(|| "it printed no time".to_owned())
        });
        let outcome = figure.map(|ms| Figure::around(ms * 1e6, 0.0, runs.parse().unwrap_or(1)));
        lines.push(Line { peer: REFERENCE.to_owned(), work: format!("session-open/{work}"), outcome });
    }
    // It is in the folder for temporary files; what cannot be removed goes with that.
    let _ = std::fs::remove_dir_all(home);
    Ok(lines)
}

fn rust(folder: &Path, plan: &Plan, works: &[&str]) -> Result<Vec<Line>, String> {
    eprintln!("building the peers in Rust ..");
    let mut build = process::cargo(folder);
    build.args(["build", "--quiet", "--release", "--manifest-path", "Cargo.toml"]);
    // Their own target folder: the workspace's is not to hold what is not its own.
    build.arg("--target-dir").arg(folder.join("target"));
    match build.status() {
        Ok(status) if status.success() => {}
        Ok(_) => return Err("they do not build; without a registry that is to be expected".to_owned()),
        Err(error) => return Err(format!("cannot start cargo: {error}")),
    }
    print(Command::new(folder.join("target/release/peers")), "the peers in Rust", plan, works)
}

fn install(folder: &Path) -> Result<(), String> {
    if folder.join("node_modules").is_dir() {
        return Ok(());
    }
    eprintln!("npm install in xtask/peers/node ..");
    let mut install = Command::new("npm");
    install.current_dir(folder).args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    match install.stdin(Stdio::null()).stdout(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!(
                "`npm install` failed: {}",
                complaint.lines().next().unwrap_or("it does not say why")
            ))
        }
        Err(_) => Err("there is no npm".to_owned()),
    }
}

/// Runs a peer's program: once for all works, or once for each that is asked for.
fn print(program: Command, name: &str, plan: &Plan, works: &[&str]) -> Result<Vec<Line>, String> {
    eprintln!("{name} ({}) ..", if plan.quick { "within a minute each" } else { "some minutes each" });
    let mut lines = Vec::new();
    for work in asked_for(plan, works) {
        let mut command = Command::new(program.get_program());
        command.args(program.get_args()).args(plan.quick.then_some("--quick"));
        command.args(work.iter().flat_map(|work| ["--work", work]));
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output();
        let output = output.map_err(|error| format!("cannot be started: {error}"))?;
        // With a work that this peer does not have, it complains and prints nothing.
        if !output.status.success() && work.is_none() {
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(complaint.lines().next_back().unwrap_or("it failed").to_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        lines.extend(lines::read(&text).map_err(|error| format!("{error:#}"))?);
    }
    Ok(lines)
}

/// The works to name to a peer; a single `None` for all it has.
fn asked_for(plan: &Plan, works: &[&str]) -> Vec<Option<String>> {
    if plan.only.is_none() {
        return vec![None];
    }
    let mut names: Vec<String> = works.iter().map(|work| peer_name(work, plan.quick)).collect();
    names.dedup();
    names.into_iter().map(Some).collect()
}

/// What a work is called by the peers: they do a chain in one go, and a shorter one when in a hurry.
fn peer_name(work: &str, quick: bool) -> String {
    match work.strip_prefix("chain/") {
        Some(_) if quick => "chain/1000".to_owned(),
        Some(_) => "chain/10000".to_owned(),
        None => work.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_asked_for_everything_or_for_each_work_by_the_peers_name() {
        let works = ["chain/10000/up", "chain/10000/down", "memory"];
        let plan = Plan { only: Some("a".into()), ..Plan::default() };
        assert_eq!(asked_for(&plan, &works), [Some("chain/10000".to_owned()), Some("memory".to_owned())]);
        let plan = Plan { quick: true, ..plan };
        assert_eq!(asked_for(&plan, &works)[0].as_deref(), Some("chain/1000"));
        assert_eq!(asked_for(&Plan::default(), &works), [None]);
    }

    #[test]
    fn a_tool_call_of_the_reference_is_a_line_of_the_work_of_its_name() {
        let text = r#"{"name":"agents/100","median_ns":468156,"min_ns":390000,"cpu_ns":460000,"runs":15}"#;
        let line = Line {
            peer: REFERENCE.to_owned(),
            work: "tool-call/agents/100".to_owned(),
            outcome: Ok(Figure::around(460_000.0, 0.0, 15)),
        };
        assert_eq!(tool_calls(text).unwrap(), [line]);
        let quiet = text.replace("460000", "480000");
        assert_eq!(tool_calls(&quiet).unwrap()[0].outcome, Ok(Figure::around(468_156.0, 0.0, 15)));
        assert_eq!(tool_calls("\n").unwrap(), []);
        let reason = tool_calls(r#"{"name":"bare"}"#).unwrap_err();
        assert!(reason.ends_with("has no time"), "{reason}");
    }

    #[test]
    fn a_program_that_is_missing_is_a_reason_and_no_failure() {
        let missing = Command::new("there is no such program");
        let reason = print(missing, "nobody", &Plan::default(), &[]).unwrap_err();
        assert!(reason.starts_with("cannot be started"), "{reason}");
    }
}
