//! Makes the recordings, of what `xtask/peers/node/headless/run.mjs` left.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::log;
use crate::recording::{Ended, Recording, Run};
use crate::request::Asked;

/// The variable with the folder of the runs.
const RUNS: &str = "DSH_HEADLESS_RUNS";

/// What the runner says about a run.
#[derive(Deserialize)]
struct Told {
    exit: Option<i32>,
    stdout: String,
    stderr: String,
    server: String,
    workspace: String,
}

/// The folders of runs.
fn runs() -> Vec<PathBuf> {
    let root = env::var_os(RUNS).unwrap_or_else(|| panic!("{RUNS} names no folder of runs"));
    let mut runs: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    runs
}

fn recording(run: &Path) -> Recording {
    let text = |name: &str| fs::read_to_string(run.join(name)).unwrap();
    let told: Told = serde_json::from_str(&text("run.json")).unwrap();
    let requests: Vec<Asked> = text("requests.jsonl").lines().map(Asked::logged).collect();
    let log: Vec<Value> = log::read(&run.join("session.jsonl.zstd"));
    // The stand-in of the headless runner that resumes prints nothing.
    let is_headless = !run.file_name().unwrap().to_str().unwrap().starts_with("resumed_");
    let process = is_headless.then_some(Ended { exit: told.exit, stdout: told.stdout, stderr: told.stderr });
    let (server, workspace) = (&told.server, &told.workspace);
    Recording::of(Run { process, requests: &requests, log: &log, server, workspace })
}

#[test]
#[ignore = "writes the recordings, of runs of the reference"]
fn recordings_are_made_of_runs() {
    for run in runs() {
        // Our own run among them is only there for its session.
        let name = run.file_name().unwrap().to_str().unwrap();
        if name != "ours" {
            recording(&run).write(name);
        }
    }
}
