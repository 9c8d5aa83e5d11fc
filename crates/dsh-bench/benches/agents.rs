//! Agents: what a step costs on top of its model, in a session that is long already.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has nothing to report"
)]

use std::sync::Arc;

use cordis::{App, Next};
use cordis_bench::measure::{alone, settings};
use cpu_time::ThreadTime;
use criterion::{Criterion, criterion_group, criterion_main};
use dsh_agent::{AGENTS, AgentHandle, AgentOptions, CreateAgent};
use dsh_llm::{
    ContentBlock, FinishReason, Message, ModelCall, Outcome, STREAM, StreamChunk, testing::finish,
};
use dsh_session::{
    AssistantMessage, CreateSession, NewEvent, Seed, Session, TurnEnd, TurnEndReason, TurnStart,
};
use dsh_tools::{TOOLS, ToolDefinition};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

criterion_group! { name = benches; config = settings(); targets = steps }
criterion_main!(benches);

/// What a user and a model have said already.
fn past(messages: u64) -> Seed {
    let session = Session::detached("past");
    for turn in 1..=messages / 2 {
        session.append(NewEvent::new(&TurnStart { turn }).unwrap()).unwrap();
        let said = Message::user(vec![ContentBlock::text("a question of some words, as users have them")]);
        session.append(NewEvent::user(Arc::new(said)).unwrap()).unwrap();
        let answer = Message::assistant(vec![ContentBlock::text("an answer of some more words")], "now", "m");
        let answer =
            AssistantMessage { turn, step: 1, message: Arc::new(answer), usage: None, interrupted: None };
        session.append(NewEvent::answer(&answer).unwrap().made_from([])).unwrap();
        let end = TurnEnd { turn, reason: TurnEndReason::Completed {} };
        session.append(NewEvent::new(&end).unwrap()).unwrap();
    }
    Seed::from(session.events())
}

/// A model that answers at once.
async fn answers(call: &mut ModelCall, _: Next<'_, ModelCall, Outcome>) -> Outcome {
    let block = ContentBlock::text("yes");
    call.out.send(StreamChunk::BlockStart { index: 0, block_type: "text".into() }).await;
    call.out.send(StreamChunk::TextDelta { index: 0, text: "yes".into() }).await;
    call.out.send(StreamChunk::BlockEnd { index: 0, block }).await;
    call.out.send(finish(FinishReason::Stop {})).await;
    Ok(())
}

async fn agent(messages: u64) -> (App, AgentHandle) {
    let app = App::new().unwrap();
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    app.plugin(dsh_agent::plugin(), ()).unwrap().ready().await.unwrap();
    app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
    app.plugin(dsh_prompt::plugin(), dsh_prompt::Config::default()).unwrap().ready().await.unwrap();
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
    app.plugin(dsh_agent_loop::plugin(), dsh_agent_loop::Config::default()).unwrap().ready().await.unwrap();
    app.on(STREAM).run(answers).unwrap();
    let tools = app.get(TOOLS).unwrap();
    for name in ["bash", "read", "job_output", "job_list", "job_kill"] {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "What is run." },
                "description": { "type": "string", "description": "What it is for." },
                "timeout_ms": { "type": "integer", "description": "How long it may take." },
            },
            "required": ["command"],
        });
        let tool = ToolDefinition::raw(name, "A tool.", schema).run(async |_, _| Ok(json!("done")));
        tools.get().unwrap().register(&app, tool).unwrap();
    }
    let agents = app.get(AGENTS).unwrap().get().unwrap().clone();
    let session =
        CreateSession { id: Some("a".into()), seed: Some(past(messages)), ..CreateSession::default() };
    let (provider, model) = (Some("now".to_owned()), Some("m".to_owned()));
    let options = AgentOptions { provider, model, ..AgentOptions::default() };
    let agent = agents.create(&app, CreateAgent::with_session(session).options(options)).await.unwrap();
    (app, agent)
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A turn of one step, from the message to the moment when the agent is idle, timed by the thread's own clock: nothing waits.
fn steps(c: &mut Criterion) {
    for messages in [0, 1_000] {
        let runtime = current_thread();
        alone(c, &format!("agent/step/{messages}-messages"), |times| {
            // The session grows by what is measured: each measurement begins with a fresh one.
            let (_app, agent) = runtime.block_on(agent(messages));
            runtime.block_on(async {
                let start = ThreadTime::now();
                for _ in 0..times {
                    agent.followup(Arc::new(Message::user(vec![ContentBlock::text("and?")]))).unwrap();
                    agent.when_idle().await;
                }
                start.elapsed()
            })
        });
    }
}
