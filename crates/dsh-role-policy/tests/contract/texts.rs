//! What a model reads when it is denied.

use serde_json::json;

use crate::fixture::{Fixture, call, caller, three_roles};

#[tokio::test]
async fn a_denial_names_the_role_and_the_tool_and_what_is_allowed() {
    let fixture = Fixture::new(three_roles()).await;
    let read = async |role: &str| fixture.execute(call("write").with(caller(role))).await.text();
    assert_eq!(
        read("reader").await,
        "Error: role \"reader\" may not call tool \"write\": it may call grep, read; \
         if the task needs more, ask the user to have it allowed"
    );
    assert_eq!(
        read("guest").await,
        "Error: role \"guest\" may not call tool \"write\": it may call no tool; \
         if the task needs more, ask the user to have it allowed"
    );
    assert_eq!(
        read("stranger").await,
        "Error: role \"stranger\" may not call tool \"write\": the role is not configured; \
         ask the user to have it added to `roles` of `role-policy`"
    );
}

#[tokio::test]
async fn a_call_without_a_role_is_told_what_it_lacks() {
    let fixture = Fixture::new(three_roles()).await;
    assert_eq!(
        fixture.execute(call("write")).await.text(),
        "Error: a call of tool \"write\" needs a role: it says neither who calls nor for which agent; \
         ask the user to have one given to it, by a caller or in `agents` of `role-policy`"
    );
    assert_eq!(
        fixture.execute(call("write").agent(&fixture.agent("ada"))).await.text(),
        "Error: a call of tool \"write\" needs a role: agent \"ada\" has no role; \
         ask the user to have one given to it, by a caller or in `agents` of `role-policy`"
    );
}

#[tokio::test]
async fn a_long_list_of_tools_is_cut() {
    let many: Vec<_> = (10..35).map(|number| format!("tool_{number}")).collect();
    let fixture = Fixture::new(json!({ "roles": { "busy": many } })).await;
    let text = fixture.execute(call("write").with(caller("busy"))).await.text();
    assert!(text.contains(" tool_28, tool_29 and 5 more; "), "{text}");
    assert!(!text.contains("tool_30"), "{text}");
}
