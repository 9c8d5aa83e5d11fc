//! Who offers which tool to whom.

use std::sync::Arc;

use cordis::State;
use dsh_tools::{CHANGE, RegisterError};
use parking_lot::Mutex;

use crate::fixture::{Does, Fixture, Probe};

fn names(fixture: &Fixture, scope: Option<&cordis::ScopeKey>) -> Vec<String> {
    fixture.tools.get().unwrap().schemas(scope).into_iter().map(|schema| schema.name).collect()
}

// spec: tools/T14
#[tokio::test]
async fn a_tool_of_an_agent_takes_the_place_of_one_for_all_and_goes_with_the_agent() {
    let fixture = Fixture::new().await;
    let tools = fixture.tools.get().unwrap();
    let (agent, other) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    let child = fixture.app.scope_under(&agent).unwrap();
    let (own, all) = (Probe::new(Does::Echo), Probe::new(Does::Echo));
    tools.register(agent.context(), &own).unwrap();
    tools.register(&fixture.app, &all).unwrap();
    for scope in [agent.key(), child.key(), other.key()] {
        fixture.call_as(scope, "probe").await;
    }
    fixture.call("probe").await;
    assert_eq!((own.runs(), all.runs()), (2, 2));
    agent.close().await;
    fixture.call_as(child.key(), "probe").await;
    assert_eq!((own.runs(), all.runs()), (2, 2), "nothing is called for an agent that has ended");
    fixture.call_as(other.key(), "probe").await;
    assert_eq!((own.runs(), all.runs()), (2, 3));
}

#[tokio::test]
async fn the_list_of_tools_keeps_the_order_of_registration() {
    let fixture = Fixture::new().await;
    let tools = fixture.tools.get().unwrap();
    let agent = fixture.app.scope().unwrap();
    for name in ["b", "a"] {
        tools.register(&fixture.app, &Probe::named(name)).unwrap();
    }
    for name in ["c", "b"] {
        tools.register(agent.context(), &Probe::named(name)).unwrap();
    }
    assert_eq!(names(&fixture, None), ["b", "a"]);
    assert_eq!(names(&fixture, Some(agent.key())), ["b", "a", "c"]);
}

// spec: cases/T6
#[tokio::test]
async fn a_name_that_is_taken_is_refused_and_both_owners_are_named() {
    let fixture = Fixture::new().await;
    let first = fixture
        .plugin(&fixture.app, "first", |tools, ctx| {
            tools.register(ctx, &Probe::named("search"))?;
            Ok(())
        })
        .await;
    let second = fixture
        .plugin(&fixture.app, "second", |tools, ctx| {
            tools.register(ctx, &Probe::named("search"))?;
            Ok(())
        })
        .await;
    assert_eq!(second.state(), State::Failed);
    let error = second.error().unwrap().to_string();
    for name in ["search", "first", "second"] {
        assert!(error.contains(name), "{error}");
    }
    assert!(!fixture.call("search").await.is_error());
    first.dispose().await;
    second.restart().await.unwrap();
    assert!(!fixture.call("search").await.is_error());
}

// spec: tools/T5, tools/T115, design/P1
#[tokio::test]
async fn a_tool_is_gone_when_its_plugin_is() {
    let fixture = Fixture::new().await;
    let plugin = fixture
        .plugin(&fixture.app, "offer", |tools, ctx| {
            tools.register(ctx, &Probe::named("probe"))?;
            Ok(())
        })
        .await;
    assert!(!fixture.call("probe").await.is_error());
    plugin.dispose().await;
    assert_eq!(fixture.call("probe").await.code(), Some("UNKNOWN_TOOL"));
    assert_eq!(names(&fixture, None), Vec::<String>::new());
}

#[tokio::test]
async fn each_change_is_told() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    fixture
        .app
        .on(CHANGE)
        .run(move |change| {
            seen.lock().push(change.scope.clone());
            Ok(())
        })
        .unwrap();
    let tools = fixture.tools.get().unwrap();
    tools.register(&fixture.app, &Probe::named("a")).unwrap().dispose().await;
    tools.register(agent.context(), &Probe::named("b")).unwrap().dispose().await;
    tools.guard(&fixture.app, |_| None).unwrap().dispose().await;
    let scope = Some(agent.key().clone());
    assert_eq!(*told.lock(), [None, None, scope.clone(), scope]);
}

#[tokio::test]
async fn a_tool_that_a_listener_refuses_is_taken_back() {
    let fixture = Fixture::new().await;
    let effect = fixture.app.on(CHANGE).run(|_| Err("not here".into())).unwrap();
    let refused = fixture.tools.get().unwrap().register(&fixture.app, &Probe::named("probe"));
    assert!(matches!(refused, Err(RegisterError::Refused { .. })));
    effect.dispose().await;
    fixture.app.quiet().await;
    assert_eq!(names(&fixture, None), Vec::<String>::new());
}

#[tokio::test]
async fn a_dead_context_registers_nothing() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let ctx = agent.context().clone();
    agent.close().await;
    let tools = fixture.tools.get().unwrap();
    assert!(matches!(tools.register(&ctx, &Probe::named("probe")), Err(RegisterError::Inactive(_))));
    assert!(matches!(tools.guard(&ctx, |_| None), Err(RegisterError::Inactive(_))));
}
