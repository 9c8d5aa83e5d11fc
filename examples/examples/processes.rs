//! Processes: an agent runs commands, a hook denies one of them, and a job in the background ends with what it stands on.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cordis::{App, BoxError, Plugin};
use dsh_agent::AGENTS;
use dsh_agent::testing::{MemoryAgents, agent};
use dsh_session::{CreateSession, NewEvent, SESSIONS, TurnStart};
use dsh_tools::{CallRequest, TOOLS};
use serde_json::{Value, json};

/// The root of the repository, in which the agent works.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

async fn mount<P: Plugin>(app: &App, plugin: P, config: P::Config) -> Result<cordis::Fiber, BoxError> {
    let fiber = app.plugin(plugin, config)?;
    fiber.ready().await?;
    Ok(fiber)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    mount(&app, dsh_session::plugin(), ()).await?;
    mount(&app, dsh_tools::plugin(), Default::default()).await?;
    mount(&app, dsh_subprocess_local::plugin(), Default::default()).await?;
    let shell = mount(&app, dsh_shell_local::plugin(), Default::default()).await?;
    mount(&app, dsh_shell::plugin(), Default::default()).await?;
    mount(&app, dsh_jobs_local::plugin(), Default::default()).await?;
    mount(&app, dsh_tool_jobs::plugin(), Default::default()).await?;
    mount(&app, dsh_tool_bash::plugin(), Default::default()).await?;
    let settings = Path::new(ROOT).join("examples/data/hooks.json");
    mount(&app, dsh_hooks_claude_code::plugin(), dsh_hooks_claude_code::Config::new(settings)).await?;

    // No loop drives this agent, so it is one for tests.
    let agents = MemoryAgents::default();
    app.provide(AGENTS, agents.service())?;
    let sessions = app.get(SESSIONS).ok_or("no sessions")?;
    let options = CreateSession { cwd: Some(ROOT.to_owned()), ..CreateSession::default() };
    let (agent, inbox) = agent(&app, sessions.get()?.create(&app, options)?)?;
    agents.add(&agent, None);
    agent.session().append(NewEvent::new(&TurnStart { turn: 1 })?)?;

    let tools = app.get(TOOLS).ok_or("no tools")?;
    let call = async |tool: &str, arguments: Value| -> Result<String, BoxError> {
        let request = CallRequest::new("call", tool, arguments).agent(&agent);
        Ok(tools.get()?.execute(&app, request).await.text())
    };
    let bash = async |command: &str, background: bool| {
        let what = "an example";
        call("bash", json!({ "command": command, "description": what, "run_in_background": background }))
            .await
    };
    println!("{}", bash("head -n 2 examples/Cargo.toml; exit 3", false).await?);
    println!("{}", bash("git push --force", false).await?);
    println!("{}", bash("echo $$; exec sleep 600", true).await?);

    let said = loop {
        let said = call("job_output", json!({ "job_id": "bash-1" })).await?;
        if !said.starts_with("(no new output)") {
            break said;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let (pid, status) = said.split_once('\n').ok_or("no status")?;
    println!("{status}");
    let runs = || Command::new("sh").args(["-c", "kill -0 $0", pid]).output().map(|it| it.status.success());
    println!("the process runs: {}", runs()?);

    // What needs the shell goes first: the tool `bash`, whose job ends with it, and the hooks.
    shell.dispose().await;
    println!("the process runs: {}", runs()?);
    println!("{}", call("job_list", json!({})).await?);
    println!("{}", inbox.take().first().ok_or("nobody was told")?.message.text());
    println!("left over: {:?}", app.shutdown().await);
    Ok(())
}
