//! A policy: a plugin that wraps the calls of all tools. Unloaded, it is gone.

use cordis::{App, BoxError, Context, Next, define};
use dsh_tools::{CallRequest, Config, EXECUTE, TOOLS, ToolCall, ToolDefinition, ToolOutcome};

/// Says how each call ended.
async fn chatter(ctx: &Context, (): (), _config: &()) -> Result<(), BoxError> {
    ctx.on(EXECUTE).run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let outcome = next.run(call).await;
        println!("{} with {} ended: {}", call.name(), call.arguments(), outcome.text());
        outcome
    })?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.plugin(dsh_tools::plugin(), Config::default())?.ready().await?;
    let tools = app.get(TOOLS).ok_or("no tools")?;
    let echo = ToolDefinition::raw("echo", "Says it again.", serde_json::json!({ "type": "object" }));
    tools.get()?.register(&app, echo.run(async |arguments, _run| Ok(arguments["text"].clone())))?;
    let policy = app.plugin(define("chatter").run(chatter), ())?;
    policy.ready().await?;
    tools.get()?.execute(&app, CallRequest::new("c1", "echo", r#"{"text": "hello"}"#)).await;
    policy.dispose().await;
    let outcome = tools.get()?.execute(&app, CallRequest::new("c2", "echo", r#"{"text": "again"}"#)).await;
    println!("nobody said anything, and the outcome is {}", outcome.text());
    Ok(())
}
