//! Restrictions: what a scope no longer sees of what it inherits.

use dsh_tools::{RUN_CODE, Restriction};

use crate::fixture::{Fixture, marked, named};

// spec: tools/T21, tools/T22, tools/T24, tools/T15
#[tokio::test]
async fn restrictions_intersect_reach_down_and_never_hide_a_scopes_own_tool() {
    let fixture = Fixture::new().await;
    let root = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(root.key()).unwrap();
    let tools = fixture.tools();
    for name in ["a", "b", "c"] {
        tools.register(&fixture.app, named(name)).unwrap();
    }
    tools.register(root.context(), named("of root")).unwrap();
    tools.register(child.context(), marked("b", "own b")).unwrap();

    let no_b = tools.restrict(root.context(), Restriction::deny(["b"])).unwrap();
    assert_eq!(fixture.names(Some(root.key())), ["a", "c", "of root"]);
    assert_eq!(fixture.names(Some(child.key())), ["a", "c", "of root", "b"]);
    assert_eq!(fixture.names(None), ["a", "b", "c"]);
    let some = tools.restrict(child.context(), Restriction::allow(["a", "of root"])).unwrap();
    assert_eq!(fixture.names(Some(child.key())), ["a", "of root", "b"]);
    let no_a = tools.restrict(child.context(), Restriction::deny(["a"])).unwrap();
    assert_eq!(fixture.names(Some(child.key())), ["of root", "b"]);

    tools.register(&fixture.app, named("later")).unwrap();
    assert_eq!(fixture.names(Some(root.key())), ["a", "c", "later", "of root"], "denied by name alone");
    assert_eq!(fixture.names(Some(child.key())), ["of root", "b"], "allowed by name alone");
    assert_eq!(fixture.said("c", Some(child.key())), None);
    assert_eq!(fixture.call_in(child.key(), "c").await.code(), Some("UNKNOWN_TOOL"));
    assert_eq!(fixture.call_in(child.key(), "b").await.text(), "own b");
    assert_eq!(fixture.call_in(root.key(), "b").await.code(), Some("UNKNOWN_TOOL"));

    some.dispose().await;
    assert_eq!(fixture.names(Some(child.key())), ["c", "later", "of root", "b"]);
    no_a.dispose().await;
    no_b.dispose().await;
    assert_eq!(fixture.names(Some(child.key())), ["a", "b", "c", "later", "of root"]);
    assert_eq!(fixture.said("b", Some(child.key())).as_deref(), Some("own b"));
}

// spec: tools/T21
#[tokio::test]
async fn an_own_tool_of_the_restricting_scope_is_inherited_below_it() {
    let fixture = Fixture::new().await;
    let root = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(root.key()).unwrap();
    let tools = fixture.tools();
    tools.register(&fixture.app, named("shared")).unwrap();
    tools.register(root.context(), named("own")).unwrap();
    tools.register(root.context(), marked("shared", "own variant")).unwrap();
    tools.restrict(root.context(), Restriction::deny(["shared"])).unwrap();
    for scope in [root.key(), child.key()] {
        assert_eq!(fixture.names(Some(scope)), ["own", "shared"]);
        assert_eq!(fixture.said("shared", Some(scope)).as_deref(), Some("own variant"));
    }
    tools.restrict(child.context(), Restriction::deny(["shared"])).unwrap();
    assert_eq!(fixture.names(Some(child.key())), ["own"]);
}

// spec: tools/T17, tools/T21
#[tokio::test]
async fn a_name_must_be_allowed_and_not_denied_and_an_empty_list_is_a_list() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let tools = fixture.tools();
    for name in ["x", "y", "z"] {
        tools.register(&fixture.app, named(name)).unwrap();
    }
    let seen = |restriction: Restriction| {
        let effect = tools.restrict(agent.context(), restriction).unwrap();
        let names = fixture.names(Some(agent.key()));
        effect.cancel();
        names
    };
    assert_eq!(seen(Restriction::allow(["x", "y"]).and_deny(["y"])), ["x"]);
    assert_eq!(seen(Restriction::deny(["x"]).and_deny(["y"])), ["z"]);
    assert_eq!(seen(Restriction::allow([""; 0])), [""; 0]);
    assert_eq!(seen(Restriction::deny([""; 0])), ["x", "y", "z"]);
    assert_eq!(fixture.names(Some(agent.key())), ["x", "y", "z"]);
}

// spec: tools/T16, tools/T17, tools/T18, tools/T19
#[tokio::test]
async fn what_a_restriction_cannot_say_is_told_with_a_remedy() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let tools = fixture.tools();
    let here = fixture.app.fiber().label();
    let in_scope = agent.context().fiber().label();
    let refused =
        |ctx: &cordis::Context, restriction| tools.restrict(ctx, restriction).unwrap_err().to_string();
    assert_eq!(
        refused(&fixture.app, Restriction::deny(["x"])),
        format!(
            "`{here}` cannot restrict tools for every agent at once: restrict on the context of one agent; \
             here it would hide the tools from all of them"
        )
    );
    assert_eq!(
        refused(agent.context(), Restriction::default()),
        format!("a restriction of `{in_scope}` does nothing: give it names to allow, names to deny, or both")
    );
    let reserved = format!(
        "a restriction of `{in_scope}` names \"run_code\", which cannot be restricted: \
         restrict the tools that programs reach through it"
    );
    for restriction in [Restriction::allow([RUN_CODE, "x"]), Restriction::allow(["x"]).and_deny([RUN_CODE])] {
        assert_eq!(refused(agent.context(), restriction), reserved);
    }
    let unknown = |names: &str, known: &str| {
        format!(
            "a restriction of `{in_scope}` names {names}, which its scope does not inherit; it inherits {known}"
        )
    };
    assert_eq!(
        refused(agent.context(), Restriction::allow(["zzz", "aaa"])),
        unknown("\"zzz\", \"aaa\"", "(none)")
    );
    tools.register(&fixture.app, named("t2")).unwrap();
    tools.register(&fixture.app, named("t1")).unwrap();
    tools.register(agent.context(), named("own")).unwrap();
    assert_eq!(
        refused(agent.context(), Restriction::allow(["zzz", "t1", "own"]).and_deny(["aaa", "zzz"])),
        unknown("\"zzz\", \"own\", \"aaa\"", "t1, t2")
    );
    // What another restriction hides is inherited all the same.
    tools.restrict(agent.context(), Restriction::deny(["t1"])).unwrap();
    tools.restrict(agent.context(), Restriction::deny(["t1"])).unwrap();
    assert_eq!(fixture.names(Some(agent.key())), ["t2", "own"]);
}

// spec: tools/T19
#[tokio::test]
async fn a_tool_of_an_ancestor_can_be_restricted_and_one_of_a_sibling_cannot() {
    let fixture = Fixture::new().await;
    let root = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(root.key()).unwrap();
    let sibling = fixture.app.scope_under(root.key()).unwrap();
    let tools = fixture.tools();
    tools.register(root.context(), named("of root")).unwrap();
    tools.register(sibling.context(), named("of sibling")).unwrap();
    tools.restrict(child.context(), Restriction::deny(["of root"])).unwrap();
    assert_eq!(fixture.names(Some(child.key())), [""; 0]);
    assert_eq!(fixture.names(Some(sibling.key())), ["of root", "of sibling"]);
    let refused = tools.restrict(child.context(), Restriction::deny(["of sibling"])).unwrap_err().to_string();
    assert!(refused.contains("\"of sibling\"") && refused.ends_with("it inherits of root"), "{refused}");
}

// spec: tools/T20
#[tokio::test]
async fn the_callers_list_is_the_callers_own_after_the_registration() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    fixture.tools().register(&fixture.app, named("x")).unwrap();
    fixture.tools().register(&fixture.app, named("y")).unwrap();
    let mut denied = vec!["x".to_owned()];
    let restriction = Restriction::deny(denied.iter().cloned());
    fixture.tools().restrict(agent.context(), restriction.clone()).unwrap();
    denied.push("y".to_owned());
    let _another = restriction.and_deny(denied);
    assert_eq!(fixture.names(Some(agent.key())), ["y"]);
}
