//! Definitions that are refused, in which order, and in which words.

use std::time::Duration;

use dsh_tools::{RUN_CODE, RegisterError, ToolDefinition, ToolError, ToolRun, tool};
use dsh_tools_invariants::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fixture::{Fixture, echo, give_back, marked, named};

/// The error with its cause, and without the plugin.
fn refused(fixture: &Fixture, tool: ToolDefinition) -> String {
    let error = fixture.tools().register(&fixture.app, tool).unwrap_err();
    let cause = std::error::Error::source(&error).map(|cause| format!(" / {cause}")).unwrap_or_default();
    format!("{error}{cause}").replace(&format!(" of `{}`", fixture.app.fiber().label()), "")
}

// spec: tools/T13, tools/T11
#[tokio::test]
async fn the_first_thing_that_is_wrong_is_told_and_nothing_is_registered() {
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, named("taken")).unwrap();
    let told = fixture.changes();
    let bad_output = || json!({ "type": "object", "patternProperties": {} });
    let output = "the schema of its value is not supported / unsupported JSON schema: ";
    // All of it is wrong: the schema of the value, the timeout, the reserved name.
    let all = echo(RUN_CODE).checked().output(bad_output()).run(give_back).timeout(Duration::ZERO);
    let text = refused(&fixture, all);
    assert!(text.starts_with(&format!("tool \"run_code\": {output}")), "{text}");
    let text = refused(&fixture, echo("taken").output(json!(7)).run(give_back));
    assert_eq!(text, format!("tool \"taken\": {output}schema must be a schema object"));
    let reserved = echo(RUN_CODE).run(give_back).timeout(Duration::ZERO);
    let timeout = "its timeout must be longer than nothing, not 0ns";
    assert_eq!(refused(&fixture, reserved), format!("tool \"run_code\": {timeout}"));
    let taken = echo("taken").run(give_back).timeout(Duration::ZERO);
    assert_eq!(refused(&fixture, taken), format!("tool \"taken\": {timeout}"));
    assert_eq!(
        refused(&fixture, marked(RUN_CODE, "mine")),
        "tool \"run_code\": the name is reserved for programs that call tools; it can be neither registered nor shadowed"
    );
    let root = fixture.app.fiber().label();
    assert_eq!(
        refused(&fixture, marked("taken", "again")),
        format!(
            "tool \"taken\" is already registered by `{root}`: unload that one first, or register a variant for one \
             agent on that agent's context"
        )
    );
    let list = ToolDefinition::raw("list", "Not an object.", json!([1])).run(give_back);
    assert_eq!(
        refused(&fixture, list),
        "tool \"list\": its parameters must be a JSON schema, which is an object"
    );
    assert_eq!(fixture.names(None), ["taken"]);
    assert_eq!(fixture.said("taken", None).as_deref(), Some("taken"));
    assert_eq!(*told.lock(), []);
}

// spec: tools/T13
#[tokio::test]
async fn an_agents_scope_has_its_own_names_but_not_the_reserved_one() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let plugin = agent.context().fiber().label();
    let tools = fixture.tools();
    tools.register(&fixture.app, named("t")).unwrap();
    tools.register(agent.context(), named("t")).unwrap();
    assert_eq!(
        tools.register(agent.context(), named("t")).unwrap_err().to_string(),
        format!(
            "tool \"t\" of `{plugin}` is already registered by `{plugin}` in this scope: unload that one first"
        )
    );
    let reserved = tools.register(agent.context(), named(RUN_CODE)).unwrap_err();
    assert!(matches!(reserved, RegisterError::Reserved { .. }), "{reserved}");
}

// spec: tools/T11
#[tokio::test]
async fn any_other_name_is_a_name() {
    let fixture = Fixture::new().await;
    let names = ["", "__proto__", "with spaces and ü", "run_code ", "RUN_CODE", "toString"];
    for name in names {
        fixture.tools().register(&fixture.app, named(name)).unwrap();
    }
    assert_eq!(fixture.names(None), names);
    for name in names {
        assert_eq!(fixture.call(name, json!({})).await.value(), Some(&json!(name)));
    }
    // The checker wants more of a name than the registry does.
    let rules: Vec<Rule> = fixture.watched.take().into_iter().map(|broken| broken.rule).collect();
    assert_eq!(rules, [Rule::Anonymous]);
    assert!(fixture.tools().get("constructor", None).is_none());
}

// spec: tools/T13, tools/T41, tools/T42
#[tokio::test]
async fn parameters_are_looked_at_only_where_arguments_are_checked_against_them() {
    let fixture = Fixture::new().await;
    let foreign = || json!({ "type": ["object", "null"], "patternProperties": { "^a": {} }, "$ref": "#/x" });
    let raw = |name: &'static str| ToolDefinition::raw(name, "Of a server.", foreign());
    fixture.tools().register(&fixture.app, raw("sent as it is").run(give_back)).unwrap();
    assert_eq!(Value::Object(fixture.tools().schemas(None)[0].parameters.clone()), foreign());
    let text = refused(&fixture, raw("checked").checked().run(give_back));
    assert!(
        text.starts_with("tool \"checked\": the schema of its arguments is not supported / unsupported JSON schema: schema."),
        "{text}"
    );
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Limited {
    #[schemars(range(min = 1, max = 5))]
    count: i32,
    #[schemars(regex(pattern = "^a"), length(min = 2))]
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Plain {}

// spec: tools/T39
#[tokio::test]
async fn a_typed_tool_with_limits_that_its_reader_does_not_check_is_refused() {
    let fixture = Fixture::new().await;
    let takes = tool("takes", "Takes.").run(async |_: Limited, _: ToolRun| Ok(()));
    let gives =
        tool("gives", "Gives.").run(async |_: Plain, _: ToolRun| Err::<Limited, _>(ToolError::aborted()));
    let violations = ["count.minimum", "count.maximum", "text.minLength", "text.pattern"].map(|place| {
        format!(
            "schema.properties.{place} is a limit that nobody checks: check it in the tool's body, or use a type that \
             holds no other values and whose schema leaves the keyword out"
        )
    });
    let reason = format!("is not supported / unsupported JSON schema: {}", violations.join("; "));
    assert_eq!(
        refused(&fixture, takes.into()),
        format!("tool \"takes\": the schema of its arguments {reason}")
    );
    assert_eq!(refused(&fixture, gives.into()), format!("tool \"gives\": the schema of its value {reason}"));
    assert_eq!(fixture.names(None), [""; 0]);
}
