//! What is registered for one scope, and what a scope sees of the others.

use std::sync::Arc;

use cordis::{ScopeError, ScopeKey};
use dsh_tools::RESULT;
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::{Fixture, marked, named};

// spec: tools/T1, tools/T3
#[tokio::test]
async fn a_scope_sees_the_tools_of_its_parents_and_only_the_holder_of_the_binding_can_move_it() {
    let fixture = Fixture::new().await;
    let [child, one, two] = [ScopeKey::new(), ScopeKey::new(), ScopeKey::new()];
    let (of_one, of_two) = (fixture.app.scope_for(&one).unwrap(), fixture.app.scope_for(&two).unwrap());
    fixture.tools().register(of_one.context(), named("one")).unwrap();
    fixture.tools().register(of_two.context(), named("two")).unwrap();
    fixture.tools().register(&fixture.app, named("global")).unwrap();
    assert_eq!(fixture.names(Some(&child)), ["global"]);

    let binding = child.bind_parent(&one).unwrap();
    assert_eq!(fixture.names(Some(&child)), ["global", "one"]);
    let again = child.bind_parent(&two).unwrap_err();
    assert_eq!(again, ScopeError::Bound { scope: child.id() });
    assert_eq!(fixture.names(Some(&child)), ["global", "one"]);
    let cycle = one.bind_parent(&child).unwrap_err();
    assert_eq!(cycle, ScopeError::Cycle { scope: one.id(), parent: child.id() });

    binding.rebind(&two).unwrap();
    assert_eq!(fixture.names(Some(&child)), ["global", "two"]);
    let _final = two.bind_parent(&one).unwrap();
    assert_eq!(fixture.names(Some(&child)), ["global", "one", "two"]);
}

// spec: tools/T2
#[tokio::test]
async fn a_scope_takes_room_only_as_long_as_something_is_registered_there() {
    let fixture = Fixture::new().await;
    let scopes = |fixture: &Fixture| {
        let text = format!("{:?}", fixture.tools());
        let (_, rest) = text.split_once("scopes: ").unwrap();
        rest.split(|sign: char| !sign.is_ascii_digit()).next().unwrap().parse::<usize>().unwrap()
    };
    let [a, b] = [fixture.app.scope().unwrap(), fixture.app.scope().unwrap()];
    fixture.names(Some(a.key()));
    let global = fixture.tools().register(&fixture.app, named("global")).unwrap();
    assert_eq!(scopes(&fixture), 0);
    let tool = fixture.tools().register(a.context(), named("a")).unwrap();
    let guard = fixture.tools().guard(a.context(), |_| None).unwrap();
    fixture.tools().guard(b.context(), |_| None).unwrap();
    assert_eq!(scopes(&fixture), 2);
    tool.dispose().await;
    assert_eq!(scopes(&fixture), 2);
    guard.dispose().await;
    assert_eq!(scopes(&fixture), 1);
    b.close().await;
    assert_eq!(scopes(&fixture), 0);
    global.dispose().await;
    assert_eq!(fixture.names(None), [""; 0]);
}

// spec: tools/T14, tools/T15, tools/T12
#[tokio::test]
async fn a_tool_of_an_agent_takes_the_place_of_an_inherited_one_whichever_came_first() {
    let fixture = Fixture::new().await;
    let root = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(root.key()).unwrap();
    let other = fixture.app.scope().unwrap();
    let tools = fixture.tools();
    let own = tools.register(child.context(), marked("c", "c of child")).unwrap();
    for (ctx, name, mark) in [
        (child.context(), "own", "own of child"),
        (root.context(), "b", "b of root"),
        (root.context(), "own", "own of root"),
        (&**fixture.app, "a", "a"),
        (&**fixture.app, "b", "b"),
        (&**fixture.app, "c", "c"),
        (child.context(), "a", "a of child"),
    ] {
        tools.register(ctx, marked(name, mark)).unwrap();
    }
    let seen = |scope: Option<&ScopeKey>| -> Vec<String> {
        tools.list(scope).iter().map(|tool| tool.schema().description.clone()).collect()
    };
    assert_eq!(seen(None), ["a", "b", "c"]);
    assert_eq!(seen(Some(other.key())), ["a", "b", "c"]);
    assert_eq!(seen(Some(root.key())), ["a", "b of root", "c", "own of root"]);
    assert_eq!(seen(Some(child.key())), ["a of child", "b of root", "c of child", "own of child"]);
    for scope in [None, Some(root.key()), Some(child.key()), Some(other.key())] {
        for tool in tools.list(scope) {
            assert!(Arc::ptr_eq(&tool, &tools.get(tool.name(), scope).unwrap()), "one look-up");
        }
    }

    own.dispose().await;
    assert_eq!(seen(Some(child.key())), ["a of child", "b of root", "c", "own of child"]);
    child.close().await;
    assert_eq!(seen(Some(child.key())), ["a", "b of root", "c", "own of root"]);
}

// spec: tools/T14, cases/T6
#[tokio::test]
async fn a_shadow_is_what_its_agent_calls_and_the_other_is_back_when_it_is_gone() {
    let fixture = Fixture::new().await;
    let (agent, other) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    fixture.tools().register(&fixture.app, marked("search", "global")).unwrap();
    let shadow = fixture.tools().register(agent.context(), marked("search", "shadow")).unwrap();
    assert_eq!(fixture.call_in(agent.key(), "search").await.value(), Some(&json!("shadow")));
    assert_eq!(fixture.call_in(other.key(), "search").await.value(), Some(&json!("global")));
    assert_eq!(fixture.call("search", json!({})).await.value(), Some(&json!("global")));
    shadow.dispose().await;
    assert_eq!(fixture.call_in(agent.key(), "search").await.value(), Some(&json!("global")));
}

// spec: tools/T4
#[tokio::test]
async fn a_guard_added_meanwhile_is_asked_in_the_same_pass_and_one_removed_before_its_turn_is_not() {
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, named("probe")).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let removed = Arc::new(Mutex::new(None::<cordis::Effect>));
    let (log, handle, ctx) = (asked.clone(), fixture.handle.clone(), (**fixture.app).clone());
    let first = {
        let removed = removed.clone();
        move |_: &dsh_tools::ToolCall| {
            log.lock().push("first");
            let effect: Option<cordis::Effect> = removed.lock().take();
            if let Some(effect) = effect {
                effect.cancel();
                let log = log.clone();
                let added = move |_: &dsh_tools::ToolCall| {
                    log.lock().push("added");
                    None
                };
                handle.get().unwrap().guard(&ctx, added).unwrap();
            }
            None
        }
    };
    fixture.tools().guard(&fixture.app, first).unwrap();
    let log = asked.clone();
    let second = move |_: &dsh_tools::ToolCall| {
        log.lock().push("removed");
        None
    };
    *removed.lock() = Some(fixture.tools().guard(&fixture.app, second).unwrap());
    assert!(!fixture.call("probe", json!({})).await.is_error());
    let mut asked = std::mem::take(&mut *asked.lock());
    // The guard that came is known to have been missed by nobody, so all are asked once more before the body runs.
    assert_eq!(asked.split_off(2), ["first", "added"]);
    assert_eq!(asked, ["first", "added"]);
}

// spec: tools/T5
#[tokio::test]
async fn undoing_removes_the_very_entry_once_and_a_group_goes_newest_first() {
    let fixture = Fixture::new().await;
    let first = fixture.tools().register(&fixture.app, marked("t", "first")).unwrap();
    first.dispose().await;
    let second = fixture.tools().register(&fixture.app, marked("t", "second")).unwrap();
    first.dispose().await;
    first.cancel();
    assert_eq!(fixture.said("t", None).as_deref(), Some("second"));
    second.dispose().await;
    assert_eq!(fixture.said("t", None), None);

    let tools = fixture.tools();
    let group = (**fixture.app).effects("two tools", |inside| {
        tools.register(inside, named("older"))?;
        tools.register(inside, named("newer"))?;
        Ok::<_, dsh_tools::RegisterError>(())
    });
    let (left, handle) = (Arc::new(Mutex::new(Vec::new())), fixture.handle.clone());
    let seen = left.clone();
    let look = move |_: &dsh_tools::ToolsChange| {
        seen.lock().push(crate::fixture::names(&*handle.get()?, None));
        Ok::<(), cordis::BoxError>(())
    };
    fixture.app.on(dsh_tools::CHANGE).run(look).unwrap();
    group.unwrap().dispose().await;
    assert_eq!(*left.lock(), [vec!["older".to_owned()], vec![]]);
    fixture.app.assert_no_errors();
}

// spec: tools/T6
#[tokio::test]
async fn a_listener_of_a_scope_hears_of_calls_there_and_below_and_one_of_no_scope_hears_all() {
    let fixture = Fixture::new().await;
    let root = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(root.key()).unwrap();
    let other = fixture.app.scope().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    for (ctx, who) in [
        (&**fixture.app, "all"),
        (root.context(), "root"),
        (child.context(), "child"),
        (other.context(), "other"),
    ] {
        let heard = heard.clone();
        ctx.on(RESULT).run(move |_| heard.lock().push(who)).unwrap();
    }
    fixture.call_in(child.key(), "none").await;
    assert_eq!(std::mem::take(&mut *heard.lock()), ["all", "root", "child"]);
    fixture.call_in(root.key(), "none").await;
    assert_eq!(std::mem::take(&mut *heard.lock()), ["all", "root"]);
    fixture.call("none", json!({})).await;
    assert_eq!(*heard.lock(), ["all"]);
}
