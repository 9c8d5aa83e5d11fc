//! An agent in code: it works, its guard is its own, and when it ends nothing of it is left.

use std::sync::Arc;

use cordis::{App, BoxError};
use dsh_agent::{AGENTS, AgentOptions, CreateAgent};
use dsh_llm::{ContentBlock, LLM, Message, StreamChunk, testing};
use dsh_tools::{TOOLS, ToolDefinition};
use serde_json::json;

/// A model that calls the tool `remove`, and then says something.
fn model() -> testing::ScriptedModel {
    let call = ContentBlock::ToolCall { id: "c1".into(), name: "remove".into(), arguments: "{}".into() };
    let calls = testing::Answer::new().chunks([
        StreamChunk::BlockStart { index: 0, block_type: "tool-call".into() },
        StreamChunk::BlockEnd { index: 0, block: call },
        testing::finish(dsh_llm::FinishReason::ToolCalls {}),
    ]);
    testing::ScriptedModel::new([calls, testing::Answer::text("I may not remove it.")])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.plugin(dsh_session::plugin(), ())?.ready().await?;
    app.plugin(dsh_agent::plugin(), ())?.ready().await?;
    app.plugin(dsh_llm::plugin(), ())?.ready().await?;
    app.plugin(dsh_prompt::plugin(), dsh_prompt::Config::default())?.ready().await?;
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?.ready().await?;
    app.plugin(dsh_agent_loop::plugin(), dsh_agent_loop::Config::default())?.ready().await?;
    let (llm, tools) = (app.get(LLM).ok_or("no models")?, app.get(TOOLS).ok_or("no tools")?);
    let _model = llm.get()?.register(&app, ["scripted"], model().adapter())?;
    let remove = ToolDefinition::raw("remove", "Removes everything.", json!({ "type": "object" }))
        .run(async |_arguments, _run| Ok(json!("removed")));
    tools.get()?.register(&app, remove)?;

    let agents = app.get(AGENTS).ok_or("no agents")?.get()?.clone();
    let (provider, model) = (Some("scripted".to_owned()), Some("m".to_owned()));
    let options = AgentOptions { provider, model, ..AgentOptions::default() };
    let guarded = tools.clone();
    let request = CreateAgent::new("careful").options(options).setup(|ctx| async move {
        // What is registered on the agent's context is for this agent, and goes with it.
        let reason = "`remove` is not for this agent";
        guarded.get()?.guard(&ctx, move |call| (call.name() == "remove").then(|| reason.into()))?;
        Ok(())
    });
    let agent = agents.create(&app, request).await?;
    agent.followup(Arc::new(Message::user(vec![ContentBlock::text("Remove everything.")])))?;
    agent.when_idle().await;
    for message in agent.session().messages().iter() {
        match &message.content[..] {
            [ContentBlock::ToolCall { name, .. }] => println!("{:?} calls {name}", message.role),
            [ContentBlock::ToolResult { content, .. }] => println!("{:?}: {content:?}", message.role),
            _ => println!("{:?}: {}", message.role, message.text()),
        }
    }
    println!("clean: {}, live: {}", agent.dispose().await.is_clean(), agents.list().len());
    Ok(())
}
