//! `dsh-testkit serve SCRIPT`: a model server by hand.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use dsh_testkit::{MockServer, Request, Script};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// Tools for tests of agents.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  dsh-testkit serve crates/dsh-testkit/scripts/three_bash.json
  dsh-testkit serve script.json --port 8080 --log requests.jsonl";

#[derive(Subcommand)]
enum Command {
    /// Answers chat completions as a script says, until it is interrupted
    #[command(after_help = SCRIPT)]
    Serve {
        /// The script, a JSON file
        script: PathBuf,
        /// The port on 127.0.0.1; one that is free without this
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// Appends each request to this file, a line of JSON each
        #[arg(long)]
        log: Option<PathBuf>,
    },
}

const SCRIPT: &str = r#"A script:
  {"steps": [
    {"text": "I look.", "calls": [{"name": "bash", "arguments": {"command": "ls"}}]},
    {"status": 429, "body": {"error": {"message": "slow down"}}, "headers": {"retry-after": "1"}},
    {"text": "half of it", "cut": {"at": 120, "how": "reset"}},
    {"reasoning": "Hm.", "text": "Done.", "chunk": 4, "drip": {"bytes": 20, "everyMs": 50}}
  ]}

Requests with tools get the steps in order, and the last one repeats."#;

/// Where requests are written.
static LOG: OnceLock<Mutex<File>> = OnceLock::new();

fn main() -> Result<()> {
    let Command::Serve { script, port, log } = Cli::parse().command;
    let script = Script::read(&script)?;
    if let Some(path) = log {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("the log {} cannot be written", path.display()))?;
        LOG.get_or_init(|| Mutex::new(file));
    }
    let server = MockServer::start_on(script, port, Some(told))
        .with_context(|| format!("port {port} cannot be had: leave --port out for one that is free"))?;
    println!("The model server runs. In another terminal:\n");
    println!("  export DEEPSEEK_BASE_URL={} DEEPSEEK_API_KEY=mock-key\n", server.base_url());
    println!("Ctrl-C ends it.");
    loop {
        std::thread::park();
    }
}

fn told(request: &Request) {
    eprintln!("{} {} ({} bytes)", request.method, request.path, request.body.len());
    if let Some(unexpected) = &request.unexpected {
        eprintln!("  unexpected: {unexpected}");
    }
    let Some(log) = LOG.get() else { return };
    let headers: Map<String, Value> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let mut line = json!({ "path": request.path, "headers": headers, "body": request.json() });
    if let Some(unexpected) = &request.unexpected {
        line["unexpected"] = unexpected.clone().into();
    }
    if let Err(error) = writeln!(log.lock(), "{line}") {
        eprintln!("  the request was not logged: {error}");
    }
}
