//! A guard for one agent: it denies a tool there and nowhere else, and nothing overrules it.

use cordis::{App, BoxError, Context, Handle, Next, ScopeKey, define};
use dsh_tools::{
    CallRequest, Config, PRE_EXECUTE, PreDecision, TOOLS, ToolCall, ToolDefinition, ToolRuntime,
};
use serde_json::json;

async fn careful(ctx: &Context, tools: Handle<ToolRuntime>, _config: &()) -> Result<(), BoxError> {
    let reason = "tool \"remove\" is not for this agent: ask the user to do it";
    tools.get()?.guard(ctx, move |call| (call.name() == "remove").then(|| reason.to_owned()))?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.plugin(dsh_tools::plugin(), Config::default())?.ready().await?;
    let tools = app.get(TOOLS).ok_or("no tools")?;
    let remove = ToolDefinition::raw("remove", "Removes a file.", json!({ "type": "object" }))
        .run(async |_arguments, _run| Ok(json!("removed")));
    tools.get()?.register(&app, remove)?;

    // Mounted on an agent's context, the guard is for that agent.
    let (trusted, watched) = (app.scope()?, app.scope()?);
    let guard = watched.context().plugin(define("careful").needs(TOOLS).run(careful), ())?;
    guard.ready().await?;
    // A listener that allows everything, and leaves the others out, does not help.
    app.on(PRE_EXECUTE)
        .prepend()
        .run(async |_: &mut ToolCall, _next: Next<'_, ToolCall, PreDecision>| PreDecision::Allow)?;

    let ask = async |name: &str, agent: &ScopeKey| -> Result<(), BoxError> {
        let call = CallRequest::new("call_1", "remove", json!({})).scope(agent);
        println!("{name}: {}", tools.get()?.execute(&app, call).await.text());
        Ok(())
    };
    ask("trusted", trusted.key()).await?;
    ask("watched", watched.key()).await?;
    guard.dispose().await;
    ask("watched, without its guard", watched.key()).await?;
    Ok(())
}
