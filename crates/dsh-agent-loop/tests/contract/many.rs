//! A thousand agents at once, each with a guard of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use cordis::Next;
use dsh_agent::CreateAgent;
use dsh_llm::testing::finish;
use dsh_llm::{ContentBlock, FinishReason, ModelCall, Outcome, STREAM, StreamChunk};
use dsh_session::{Payload, ToolResult, TurnEndReason};
use dsh_tools::{ToolCall, ToolRun};
use serde_json::{Value, json};

use crate::fixture::{Fixture, endings, options, raw, said};

const AGENTS: usize = 1_000;

/// Calls both tools, then is done.
async fn answers(call: &mut ModelCall, _: Next<'_, ModelCall, Outcome>) -> Outcome {
    let has_results = |message: &Arc<dsh_llm::Message>| {
        message.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }))
    };
    if call.request.messages.iter().any(has_results) {
        let block = ContentBlock::text("done");
        call.out.send(StreamChunk::BlockStart { index: 0, block_type: "text".into() }).await;
        call.out.send(StreamChunk::BlockEnd { index: 0, block }).await;
        call.out.send(finish(FinishReason::Stop {})).await;
        return Ok(());
    }
    let text = call.request.session_id.clone().unwrap_or_default();
    for (index, name) in [(0, "even"), (1, "odd")] {
        let arguments = json!({ "text": text }).to_string();
        let block = ContentBlock::ToolCall { id: format!("c{index}"), name: name.into(), arguments };
        call.out.send(StreamChunk::BlockStart { index, block_type: "tool-call".into() }).await;
        call.out.send(StreamChunk::BlockEnd { index, block }).await;
    }
    call.out.send(finish(FinishReason::ToolCalls {})).await;
    Ok(())
}

// spec: agent-loop/S4, agent-loop/S78, design/P7, design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_is_held_by_its_own_guard_and_by_no_other() {
    let fixture = Fixture::new([]).await;
    fixture.app.on(STREAM).run(answers).unwrap();
    let ran: Arc<Vec<AtomicUsize>> = Arc::new((0..AGENTS).map(|_| AtomicUsize::new(0)).collect());
    for name in ["even", "odd"] {
        let ran = ran.clone();
        let odd = name == "odd";
        let body = move |arguments: Arc<Value>, _: ToolRun| {
            let ran = ran.clone();
            async move {
                let of: usize = arguments["text"].as_str().unwrap().parse().unwrap();
                ran[of].fetch_add(1 + usize::from(odd) * 10, SeqCst);
                tokio::task::yield_now().await;
                Ok(json!(of))
            }
        };
        fixture.offer(&fixture.app, raw(name).run(body).parallel());
    }
    let tools = fixture.tools();
    let effects = fixture.app.effects(&fixture.app);
    let mut agents = Vec::new();
    for index in 0..AGENTS {
        let agent = fixture
            .agents()
            .create(&fixture.app, CreateAgent::new(index.to_string()).options(options()))
            .await
            .unwrap();
        let refused = if index % 2 == 0 { "odd" } else { "even" };
        let guard = move |call: &ToolCall| (call.name() == refused).then(|| format!("{index} refuses"));
        tools.get().unwrap().guard(agent.context(), guard).unwrap();
        agents.push(agent);
    }
    for agent in &agents {
        agent.followup(said("go")).unwrap();
    }
    for (index, agent) in agents.iter().enumerate() {
        agent.when_idle().await;
        assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}], "{index}");
        let events = agent.session().events();
        let results: Vec<(String, bool)> = events
            .iter()
            .filter(|event| event.kind() == ToolResult::TYPE)
            .filter_map(|event| event.payload::<ToolResult>().unwrap())
            .map(|result| (result.text().unwrap(), result.is_error()))
            .collect();
        let [even, odd] = &results[..] else { panic!("{index}: {results:?}") };
        let (allowed, denied) = if index % 2 == 0 { (even, odd) } else { (odd, even) };
        assert_eq!(*allowed, (index.to_string(), false));
        assert!(denied.1 && denied.0.contains(&format!("{index} refuses")), "{denied:?}");
        // What is denied never ran.
        assert_eq!(ran[index].load(SeqCst), if index % 2 == 0 { 1 } else { 11 });
    }
    for agent in &agents {
        assert!(agent.dispose().await.is_clean());
    }
    assert_eq!(fixture.agents().list(), []);
    assert_eq!(fixture.app.effects(&fixture.app), effects, "something of the agents is left");
}
