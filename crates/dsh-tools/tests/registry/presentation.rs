//! How the tools of a scope are presented.

use dsh_tools::{Config, Mode, RUN_CODE, RegisterError};
use serde_json::json;

use crate::fixture::{Fixture, named};

// spec: tools/T10, tools/T28
#[tokio::test]
async fn the_nearest_scope_says_how_its_tools_are_presented_else_the_configuration() {
    let fixture = Fixture::with(Config { mode: Mode::Both, ..Config::default() }).await;
    let root = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(root.key()).unwrap();
    let tools = fixture.tools();
    let modes = || [None, Some(root.key()), Some(child.key())].map(|scope| tools.mode(scope));
    assert_eq!(modes(), [Mode::Both; 3]);
    let of_child = tools.present(child.context(), Mode::Native).unwrap();
    assert_eq!(modes(), [Mode::Both, Mode::Both, Mode::Native]);
    let of_root = tools.present(root.context(), Mode::Code).unwrap();
    assert_eq!(modes(), [Mode::Both, Mode::Code, Mode::Native]);
    of_child.dispose().await;
    assert_eq!(modes(), [Mode::Both, Mode::Code, Mode::Code]);
    of_root.dispose().await;
    assert_eq!(modes(), [Mode::Both; 3]);
}

// spec: tools/T28
#[tokio::test]
async fn a_presentation_is_of_one_scope_and_there_is_one_of_it() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let tools = fixture.tools();
    assert_eq!(
        tools.present(&fixture.app, Mode::Code).unwrap_err().to_string(),
        format!(
            "`{}` cannot present tools for every agent at once: present on the context of one agent; \
             `mode` of the plugin's configuration is for all of them",
            fixture.app.fiber().label()
        )
    );
    let first = tools.present(agent.context(), Mode::Code).unwrap();
    let second = tools.present(agent.context(), Mode::Both).unwrap_err();
    assert!(
        matches!(second, RegisterError::Presented { wanted: Mode::Both, present: Mode::Code, .. }),
        "{second}"
    );
    assert_eq!(
        second.to_string(),
        format!(
            "`{}` cannot present tools as `both`: its scope presents them as `code` already; take that back first",
            agent.context().fiber().label()
        )
    );
    assert_eq!(tools.mode(Some(agent.key())), Mode::Code);
    first.dispose().await;
    tools.present(agent.context(), Mode::Both).unwrap();
    assert_eq!(tools.mode(Some(agent.key())), Mode::Both);
}

// spec: tools/T24
#[tokio::test]
async fn the_tool_of_programs_is_not_there_where_tools_are_presented_one_by_one() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    fixture.tools().register(&fixture.app, named("a")).unwrap();
    for scope in [None, Some(agent.key())] {
        assert!(fixture.tools().get(RUN_CODE, scope).is_none());
        assert_eq!(fixture.names(scope), ["a"]);
    }
    assert_eq!(fixture.call(RUN_CODE, json!({})).await.code(), Some("UNKNOWN_TOOL"));
}
