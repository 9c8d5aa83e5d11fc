//! What is left of a plugin that is unloaded, and of an agent that is closed: nothing.

use std::sync::Arc;

use dsh_llm::ContentBlock;
use dsh_tools::{
    CHANGE, CallRequest, Mode, RUN_CODE, RegisterError, Restriction, ToolCall, ToolDefinition, tool,
};
use serde_json::{Value, json};

use crate::fixture::{Fixture, marked, named};

/// A tool of which each part holds `held`.
fn holding(name: &'static str, held: &Arc<()>) -> ToolDefinition {
    let parts = || held.clone();
    let (body, render, meta, parallel) = (parts(), parts(), parts(), parts());
    let (finalize, call, result) = (parts(), parts(), parts());
    let used = |held: &Arc<()>| Arc::strong_count(held) > 0;
    ToolDefinition::raw(name, "Holds something.", json!({ "type": "object" }))
        .run(move |_, _| {
            let held = body.clone();
            async move {
                let _held = held;
                Ok(Value::Null)
            }
        })
        .render(move |_, _| Ok(vec![ContentBlock::text(used(&render).to_string())]))
        .presentation_meta(move |_, _| Ok(json!(used(&meta))))
        .parallel_when(move |_| used(&parallel))
        .finalize(move |_, _| {
            let _held = &finalize;
            None
        })
        .present_call(move |_| {
            let _held = &call;
            None
        })
        .present_result(move |_, _| {
            let _held = &result;
            None
        })
}

// spec: tools/T5, tools/T115
#[tokio::test]
async fn nothing_is_left_of_a_plugin_that_is_unloaded() {
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, named("inherited")).unwrap();
    let before = fixture.app.inspect();
    let held = Arc::new(());
    let scope = cordis::ScopeKey::new();
    let opened = Arc::new(parking_lot::Mutex::new(None));
    let (own, key, kept) = (held.clone(), scope.clone(), opened.clone());
    let plugin = fixture
        .plugin("offer", move |tools, ctx| {
            tools.register(ctx, holding("raw", &own))?;
            let state = own.clone();
            tools.register(ctx, tool("typed", "Typed.").with(Held(state)).run(with_state))?;
            let guard = own.clone();
            tools.guard(ctx, move |_: &ToolCall| (Arc::strong_count(&guard) == 0).then(String::new))?;
            let agent = ctx.scope_for(&key)?;
            tools.register(agent.context(), holding("scoped", &own))?;
            tools.restrict(agent.context(), Restriction::deny(["inherited"]))?;
            tools.present(agent.context(), Mode::Both)?;
            let listener = own.clone();
            ctx.on(CHANGE).run(move |_| {
                let _held = &listener;
                Ok(())
            })?;
            *kept.lock() = Some(agent);
            Ok(())
        })
        .await;
    assert_eq!(plugin.error().map(|error| error.to_string()), None);
    assert_eq!(fixture.names(None), ["inherited", "raw", "typed"]);
    let mut scoped = fixture.names(Some(&scope));
    scoped.retain(|name| name != RUN_CODE);
    assert_eq!(scoped, ["raw", "typed", "scoped"]);
    assert_eq!(fixture.tools().mode(Some(&scope)), Mode::Both);
    assert!(!fixture.call("typed", json!({})).await.is_error());
    let tool = fixture.tools().get("raw", None).unwrap();

    assert!(plugin.dispose().await.is_clean());
    drop(plugin);
    assert_eq!(fixture.names(None), ["inherited"]);
    assert_eq!(fixture.names(Some(&scope)), ["inherited"]);
    assert_eq!(fixture.tools().mode(Some(&scope)), Mode::Native);
    drop(opened.lock().take());
    assert_eq!(fixture.app.inspect(), before);
    assert_eq!(Arc::strong_count(&held), 1, "nothing that its code captured is left");
    // Who still has the tool can read what it was, and nothing of it runs.
    assert_eq!(tool.name(), "raw");
    assert!(!tool.is_parallel(&json!({})));
    fixture.app.assert_no_errors();
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// The state of a tool.
struct Held(#[expect(dead_code, reason = "it is held")] Arc<()>);

async fn with_state(
    _held: Arc<Held>,
    _: Nothing,
    _run: dsh_tools::ToolRun,
) -> Result<(), dsh_tools::ToolError> {
    Ok(())
}

// spec: tools/T5, tools/T14
#[tokio::test]
async fn closing_an_agent_takes_its_tools_guards_and_restrictions_and_leaves_its_ancestors() {
    let fixture = Fixture::new().await;
    let root = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(root.key()).unwrap();
    let tools = fixture.tools();
    tools.register(&fixture.app, marked("t", "global")).unwrap();
    tools.register(root.context(), marked("t", "root")).unwrap();
    tools.register(child.context(), marked("t", "child")).unwrap();
    tools.register(child.context(), named("own")).unwrap();
    tools.guard(child.context(), |_| Some("no".to_owned())).unwrap();
    tools.restrict(child.context(), Restriction::deny(["t"])).unwrap();
    assert_eq!(fixture.call_in(child.key(), "t").await.text(), "Error: no");
    child.close().await;
    assert_eq!(fixture.names(Some(child.key())), ["t"]);
    // What guarded it is gone, so nothing is called in its name any more.
    let ended = "Error: tool call aborted before dispatch: the agent that made it has ended";
    assert_eq!(fixture.call_in(child.key(), "t").await.text(), ended);
    assert_eq!(fixture.call_in(root.key(), "t").await.text(), "root");
    root.close().await;
    assert_eq!(fixture.call_in(root.key(), "t").await.text(), ended);
    assert_eq!(
        tools.get("t", Some(root.key())).map(|tool| tool.schema().description.clone()),
        tools.get("t", None).map(|tool| tool.schema().description.clone())
    );
    for ctx in [child.context(), root.context()] {
        assert!(matches!(tools.register(ctx, named("x")), Err(RegisterError::Inactive(_))));
        assert!(matches!(tools.guard(ctx, |_| None), Err(RegisterError::Inactive(_))));
        assert!(matches!(tools.restrict(ctx, Restriction::deny(["t"])), Err(RegisterError::Inactive(_))));
        assert!(matches!(tools.present(ctx, Mode::Code), Err(RegisterError::Inactive(_))));
    }
}

// spec: cases/T6, tools/T115
#[tokio::test]
async fn a_name_that_two_plugins_want_is_refused_with_both_named_and_free_when_the_first_is_gone() {
    let fixture = Fixture::new().await;
    let first = fixture
        .plugin("first", |tools, ctx| {
            tools.register(ctx, marked("search", "one"))?;
            Ok(())
        })
        .await;
    let second = fixture
        .plugin("second", |tools, ctx| {
            tools.register(ctx, marked("search", "two"))?;
            Ok(())
        })
        .await;
    let error = second.error().unwrap().to_string();
    assert!(
        error.contains(&format!(
            "tool \"search\" of `{}` is already registered by `{}`: unload that one first, \
             or register a variant for one agent on that agent's context",
            second.label(),
            first.label()
        )),
        "{error}"
    );
    assert_eq!(fixture.call("search", json!({})).await.text(), "one");
    first.dispose().await;
    assert_eq!(fixture.call("search", json!({})).await.code(), Some("UNKNOWN_TOOL"));
    second.restart().await.unwrap();
    assert_eq!(fixture.call("search", json!({})).await.text(), "two");
}

// spec: tools/T114
#[tokio::test]
async fn each_tool_is_attributed_to_the_plugin_that_offers_it() {
    let fixture = Fixture::new().await;
    let agent = cordis::ScopeKey::new();
    let opened = Arc::new(parking_lot::Mutex::new(None));
    let (key, kept) = (agent.clone(), opened.clone());
    let files = fixture
        .plugin("files", |tools, ctx| {
            tools.register(ctx, named("read"))?;
            tools.register(ctx, named("write"))?;
            Ok(())
        })
        .await;
    let shell = fixture
        .plugin("shell", move |tools, ctx| {
            let scope = ctx.scope_for(&key)?;
            tools.register(scope.context(), named("read"))?;
            *kept.lock() = Some(scope);
            Ok(())
        })
        .await;
    let owners = |scope: Option<&cordis::ScopeKey>| -> Vec<(String, String)> {
        let tools = fixture.tools().list(scope);
        tools.iter().map(|tool| (tool.name().to_owned(), tool.plugin())).collect()
    };
    let of = |name: &str, plugin: String| (name.to_owned(), plugin);
    assert_eq!(owners(None), [of("read", files.label()), of("write", files.label())]);
    // A tool of a scope is its scope's, which belongs to the plugin that opened it.
    let scope = opened.lock().take().unwrap();
    assert_eq!(owners(Some(&agent)), [of("read", scope.fiber().label()), of("write", files.label())]);
    assert!(shell.dispose().await.is_clean());
    assert_eq!(owners(Some(&agent)), owners(None));
}

// spec: tools/T5
#[tokio::test(start_paused = true)]
async fn a_tool_that_is_taken_back_while_it_runs_ends_before_its_plugin_has_gone() {
    let fixture = Fixture::new().await;
    let (held, begun) = (Arc::new(()), Arc::new(tokio::sync::Notify::new()));
    let (own, started) = (held.clone(), begun.clone());
    let plugin = fixture
        .plugin("slow", move |tools, ctx| {
            let (held, started) = (own.clone(), started.clone());
            let slow =
                ToolDefinition::raw("slow", "Never ends.", json!({ "type": "object" })).run(move |_, _| {
                    let (held, started) = (held.clone(), started.clone());
                    async move {
                        started.notify_one();
                        std::future::pending::<()>().await;
                        drop(held);
                        Ok(Value::Null)
                    }
                });
            tools.register(ctx, slow)?;
            Ok(())
        })
        .await;
    let (handle, ctx) = (fixture.handle.clone(), (**fixture.app).clone());
    let call = tokio::spawn(async move {
        let tools = handle.get().unwrap();
        tools.execute(&ctx, CallRequest::new("c1", "slow", json!({}))).await
    });
    begun.notified().await;
    assert!(plugin.dispose().await.is_clean());
    drop(plugin);
    assert_eq!(call.await.unwrap().code(), Some("ABORTED"));
    assert_eq!(Arc::strong_count(&held), 1);
}
