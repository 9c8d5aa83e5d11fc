//! A guard that watches one agent only. It is an ordinary plugin, mounted on that agent's context.

use cordis::{App, BoxError, Context, Next, Plugin, Scope, ScopeKey, Waterfall, define};

/// A command of an agent.
pub struct Command {
    agent: ScopeKey,
    line: &'static str,
}

type Outcome = Result<String, String>;

/// Runs a command. The key names its subject: wherever it is dispatched, it reaches the listeners of that agent and of
/// the agents above it.
const EXECUTE: Waterfall<Command, Outcome> =
    Waterfall::new("demo/execute").scoped_by(|command| Some(&command.agent));

/// What the guard looks for.
#[derive(Clone)]
pub struct Config {
    denied: &'static str,
}

/// Denies commands that begin with a word.
pub fn guard() -> impl Plugin<Config = Config> {
    define("guard").run(watch)
}

async fn watch(ctx: &Context, _needs: (), config: &Config) -> Result<(), BoxError> {
    ctx.on(EXECUTE).prepend().with(config.clone()).run(deny)?;
    Ok(())
}

async fn deny(config: &Config, command: &mut Command, next: Next<'_, Command, Outcome>) -> Outcome {
    if command.line.starts_with(config.denied) {
        return Err(format!("`{}` is denied", config.denied));
    }
    next.run(command).await
}

struct Shell;

impl Shell {
    async fn run(&self, command: &mut Command) -> Outcome {
        Ok(format!("ran `{}`", command.line))
    }
}

async fn all_run_rm(app: &App, agents: &[(&str, &Scope)]) -> Result<(), BoxError> {
    for (name, agent) in agents {
        let mut command = Command { agent: agent.key().clone(), line: "rm notes.txt" };
        let outcome = app.waterfall(EXECUTE, &mut command, &Shell, Shell::run).await?;
        println!("  {name}: {outcome:?}, listeners of its own: {}", agent.context().listeners(EXECUTE));
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    let (ada, bob) = (app.scope()?, app.scope()?);
    let helper = app.scope_under(bob.key())?;
    let agents = [("Ada", &ada), ("Bob", &bob), ("Bob's helper", &helper)];

    println!("no guard");
    all_run_rm(&app, &agents).await?;

    println!("a guard on Bob, whom his helper takes after");
    bob.context().plugin(guard(), Config { denied: "rm" })?.ready().await?;
    all_run_rm(&app, &agents).await?;

    println!("Bob's scope is closed: what was registered for him is gone, the guard with it");
    bob.close().await;
    all_run_rm(&app, &agents).await
}
