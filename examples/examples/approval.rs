//! An approval: a policy has somebody asked before one tool runs, and a program answers.

use cordis::{App, BoxError, Context, Next, define};
use dsh_agent::testing::agent;
use dsh_approval_channel::{CHANNEL, Decision};
use dsh_session::{NewEvent, Session, TurnStart};
use dsh_tools::{CallRequest, PRE_EXECUTE, PreDecision, TOOLS, ToolCall, ToolDefinition};
use serde_json::json;

async fn cautious(ctx: &Context, (): (), _config: &()) -> Result<(), BoxError> {
    ctx.on(PRE_EXECUTE).run(async |call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| match call
        .name()
    {
        "send" => PreDecision::Ask { reason: Some("it cannot be taken back".to_owned()) },
        _ => next.run(call).await,
    })?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.plugin(dsh_approval::plugin(), dsh_approval::Config::default())?.ready().await?;
    app.plugin(dsh_approval_channel::plugin(), ())?.ready().await?;
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?.ready().await?;
    app.plugin(define("cautious").run(cautious), ())?.ready().await?;
    let (tools, channel) = (app.get(TOOLS).ok_or("no tools")?, app.get(CHANNEL).ok_or("no channel")?);
    let send = ToolDefinition::raw("send", "Sends a letter.", json!({ "type": "object" }))
        .run(async |_arguments, _run| Ok(json!("sent")));
    tools.get()?.register(&app, send)?;

    // The question and its answer belong into a turn of the agent's session.
    let (agent, _inbox) = agent(&app, Session::detached("s-1"))?;
    agent.session().append(NewEvent::new(&TurnStart { turn: 1 })?)?;
    let mut questions = channel.get()?.attach();
    for (id, decision) in [("call_1", Decision::AllowOnce), ("call_2", Decision::Reject)] {
        let call = CallRequest::new(id, "send", json!({ "to": "Ada" })).agent(&agent);
        let answer = async {
            let Some(asked) = questions.next().await else { return Ok(()) };
            let (arguments, reason) = (asked.arguments.unwrap_or_default(), asked.reason.unwrap_or_default());
            println!("{} {arguments}, although {reason}? {decision:?}", asked.tool_name);
            questions.answer(&asked.id, decision)
        };
        let tools = tools.get()?;
        let (outcome, answered) = tokio::join!(tools.execute(&app, call), answer);
        answered?;
        println!("  {}", outcome.text());
    }
    for event in &agent.session().events() {
        println!("{} {}", event.seq(), event.kind());
    }
    Ok(())
}
