//! There is one way to a body, whoever calls.

use cordis::Next;
use dsh_tools::{CallRequest, Caller, PRE_EXECUTE, PreDecision, ToolCall};
use serde_json::{Value, json};

use crate::world::{World, texts};

// spec: cases/A1, tools/T98
#[tokio::test(start_paused = true)]
async fn a_guard_of_all_refuses_a_child_agent_a_nested_call_and_a_batch() {
    let world = World::new().await;
    world.timed("grep", true);
    world.program("program", async |lane, _| Ok(lane.call("grep", json!({})).await?));
    world.deny("grep");

    let child = world.another_agent(world.app.scope_under(world.agent.scope()).unwrap());
    let by_child = world.execute(CallRequest::new("c1", "grep", "{}").agent(&child)).await;
    let nested = world.call("program").await;
    let by_batch = world.run(world.batch(&[("c1", "grep", "{}"), ("c2", "program", "{}")])).await.unwrap();

    let refused = "Error: grep is not for you";
    assert_eq!((by_child.text().as_str(), nested.text().as_str()), (refused, refused));
    assert_eq!(texts(&by_batch), [refused, refused]);
    assert_eq!(world.told.all(), [""; 0], "no body ran");
}

// spec: cases/A1, code-mode/C20
#[tokio::test]
async fn a_policy_that_judges_by_the_caller_knows_the_caller_of_a_nested_call() {
    let world = World::new().await;
    world.timed("grep", true);
    world.program("program", async |lane, _| Ok(lane.call("grep", json!({})).await?));
    world
        .app
        .on(PRE_EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            match call.context().get::<Caller>() {
                Some(caller) if caller.role == "reader" || call.name() == "program" => next.run(call).await,
                caller => PreDecision::Deny { reason: format!("{caller:?} may not") },
            }
        })
        .unwrap();
    for (role, value) in [("reader", Some(json!("grep"))), ("guest", None::<Value>)] {
        let caller = Caller { id: "u1".into(), name: "Ada".into(), role: role.into() };
        let request = CallRequest::new("c1", "program", "{}").agent(&world.agent).with(caller);
        assert_eq!(world.execute(request).await.value().cloned(), value, "{role}");
    }
}

// spec: tools/T15
#[tokio::test]
async fn the_list_of_an_agent_begins_with_what_all_have_and_a_shadow_keeps_the_place() {
    let world = World::new().await;
    let tools = world.tools.get().unwrap();
    let child = world.app.scope_under(world.agent.scope()).unwrap();
    let offer = |ctx: &cordis::Context, name: &'static str, description: &'static str| {
        let tool = dsh_tools::ToolDefinition::raw(name, description, json!({ "type": "object" }));
        tools.register(ctx, tool.run(async |_, _run| Ok(Value::Null))).unwrap();
    };
    offer(child.context(), "d", "own");
    offer(child.context(), "c", "own");
    offer(world.agent.context(), "c", "parent's");
    offer(world.agent.context(), "a", "parent's");
    offer(&world.app, "a", "global");
    offer(&world.app, "b", "global");
    let list: Vec<String> = tools
        .schemas(Some(child.key()))
        .iter()
        .map(|tool| format!("{} {}", tool.name, tool.description))
        .collect();
    assert_eq!(list, ["a parent's", "b global", "c own", "d own"]);
}
