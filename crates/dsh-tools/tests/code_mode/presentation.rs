//! Which tools a scope sees, by the mode in which they are presented.

use std::sync::Arc;

use dsh_tools::{Config, ConfigError, LoggedResult, Mode, RUN_CODE, RegisterError, Restriction, dismantle};
use serde_json::{Value, json};

use crate::fixture::{Fixture, named};

fn names(fixture: &Fixture, scope: Option<&cordis::ScopeKey>) -> Vec<String> {
    fixture.tools().list(scope).iter().map(|tool| tool.name().to_owned()).collect()
}

// spec: tools/T8, T9
#[tokio::test]
async fn tools_are_native_and_ten_calls_of_a_program_may_overlap_unless_configured() {
    assert_eq!(serde_json::from_value::<Config>(json!({})).unwrap(), Config::default());
    let Config { mode, max_parallel_sub_calls, .. } = Config::default();
    assert_eq!((mode, max_parallel_sub_calls), (Mode::Native, 10));
    for (text, mode) in [("native", Mode::Native), ("code", Mode::Code), ("both", Mode::Both)] {
        assert_eq!(serde_json::from_value::<Config>(json!({ "mode": text })).unwrap().mode, mode);
    }
    assert!(serde_json::from_value::<Config>(json!({ "mode": "other" })).is_err());

    let none = Config { max_parallel_sub_calls: 0, ..Config::default() };
    assert_eq!(none.check(), Err(ConfigError::NoSubCalls));
    assert_eq!(none.check().unwrap_err().to_string(), "maxParallelSubCalls must be a positive integer");
    let app = cordis::testing::TestApp::new();
    let failed = app.plugin(dsh_tools::plugin(), none).unwrap().ready().await.unwrap_err();
    assert!(format!("{failed:?}").contains("maxParallelSubCalls must be a positive integer"), "{failed:?}");
}

// spec: tools/T10, T28, code-mode/C86
#[tokio::test]
async fn the_nearest_presentation_decides_and_the_configuration_where_there_is_none() {
    let fixture = Fixture::new(Mode::Native).await;
    let team = fixture.app.scope().unwrap();
    let agent = fixture.app.scope_under(&team).unwrap();
    let other = fixture.app.scope().unwrap();
    let modes = || {
        let tools = fixture.tools();
        [None, Some(&*team), Some(&*agent), Some(&*other)].map(|scope| tools.mode(scope))
    };
    assert_eq!(modes(), [Mode::Native; 4]);
    let of_team = fixture.tools().present(team.context(), Mode::Code).unwrap();
    assert_eq!(modes(), [Mode::Native, Mode::Code, Mode::Code, Mode::Native]);
    let of_agent = fixture.tools().present(agent.context(), Mode::Native).unwrap();
    assert_eq!(modes(), [Mode::Native, Mode::Code, Mode::Native, Mode::Native]);
    of_team.dispose().await;
    assert_eq!(modes(), [Mode::Native; 4]);
    fixture.tools().present(team.context(), Mode::Both).unwrap();
    of_agent.dispose().await;
    assert_eq!(modes(), [Mode::Native, Mode::Both, Mode::Both, Mode::Native]);
}

// spec: tools/T28
#[tokio::test]
async fn tools_are_presented_once_in_a_scope_and_never_for_all_at_once() {
    let fixture = Fixture::new(Mode::Native).await;
    let unscoped = fixture.tools().present(&fixture.app, Mode::Code).unwrap_err();
    assert!(matches!(unscoped, RegisterError::Unscoped { .. }));
    let told = unscoped.to_string();
    assert!(told.contains("context of one agent") && told.contains("`mode`"), "{told}");

    let agent = fixture.app.scope().unwrap();
    let first = fixture.tools().present(agent.context(), Mode::Code).unwrap();
    let second = fixture.tools().present(agent.context(), Mode::Native).unwrap_err();
    assert!(
        matches!(&second, RegisterError::Presented { wanted: Mode::Native, present: Mode::Code, .. }),
        "{second}"
    );
    first.dispose().await;
    fixture.tools().present(agent.context(), Mode::Native).unwrap();
}

// spec: tools/T23, T24, code-mode/C1
#[tokio::test]
async fn run_code_is_the_last_tool_of_a_scope_that_is_not_native_and_of_no_other() {
    let fixture = Fixture::new(Mode::Native).await;
    let agent = fixture.app.scope().unwrap();
    fixture.offer(&fixture.app, "b");
    assert_eq!(names(&fixture, Some(&agent)), ["b"]);
    assert!(fixture.tools().get(RUN_CODE, Some(&agent)).is_none());
    for mode in [Mode::Code, Mode::Both] {
        let presented = fixture.tools().present(agent.context(), mode).unwrap();
        let own = fixture.offer(agent.context(), "a");
        assert_eq!(names(&fixture, Some(&agent)), ["b", "a", RUN_CODE]);
        assert_eq!(fixture.tools().get(RUN_CODE, Some(&agent)).unwrap().name(), RUN_CODE);
        assert_eq!(fixture.tools().get("b", Some(&agent)).unwrap().name(), "b");
        assert!(fixture.tools().get("c", Some(&agent)).is_none());
        assert!(fixture.tools().get(RUN_CODE, None).is_none());
        own.dispose().await;
        presented.dispose().await;
    }
    assert_eq!(names(&fixture, Some(&agent)), ["b"]);
}

// spec: tools/T23, T18, T13, code-mode/C1
#[tokio::test]
async fn run_code_can_be_neither_restricted_nor_registered_nor_shadowed() {
    let fixture = Fixture::new(Mode::Code).await;
    let agent = fixture.app.scope().unwrap();
    fixture.offer(&fixture.app, "a");
    let restricted = fixture.tools().restrict(agent.context(), Restriction::deny([RUN_CODE])).unwrap_err();
    assert!(matches!(restricted, RegisterError::ReservedRestriction { .. }));
    let nothing: [&str; 0] = [];
    fixture.tools().restrict(agent.context(), Restriction::allow(nothing)).unwrap();
    assert_eq!(names(&fixture, Some(&agent)), [RUN_CODE]);
    for ctx in [&fixture.app.root(), agent.context()] {
        let refused = fixture.tools().register(ctx, named(RUN_CODE)).unwrap_err();
        assert!(matches!(refused, RegisterError::Reserved { .. }), "{refused}");
    }
}

// spec: tools/T25
#[tokio::test]
async fn schemas_are_copies_that_tell_name_description_and_parameters_alone() {
    let fixture = Fixture::new(Mode::Native).await;
    let parameters = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
    let tool = dsh_tools::ToolDefinition::raw("t", "Does it.", parameters.clone())
        .output(json!({ "type": "string" }))
        .run(async |_, _| Ok(Value::Null))
        .timeout(std::time::Duration::from_secs(1))
        .parallel_when(|_| true);
    fixture.tools().register(&fixture.app, tool).unwrap();
    let mut schemas = fixture.tools().schemas(None);
    let whole = json!([{ "name": "t", "description": "Does it.", "parameters": parameters }]);
    assert_eq!(serde_json::to_value(&schemas).unwrap(), whole);
    schemas[0].parameters.clear();
    assert_eq!(serde_json::to_value(fixture.tools().schemas(None)).unwrap(), whole);
}

// spec: tools/T25
#[tokio::test]
async fn parameters_of_any_depth_are_copied_without_recursion() {
    let fixture = Fixture::new(Mode::Native).await;
    let mut deep = json!({});
    for _ in 0..100_000 {
        let mut outer = serde_json::Map::new();
        outer.insert("items".to_owned(), deep);
        deep = Value::Object(outer);
    }
    let effect = {
        let tool = dsh_tools::ToolDefinition::raw("t", "Deep.", deep).run(async |_, _| Ok(Value::Null));
        fixture.tools().register(&fixture.app, tool).unwrap()
    };
    let schema = fixture.tools().schemas(None).pop().unwrap();
    assert!(schema.parameters.contains_key("items"));
    let dsh_llm::ToolSchema { parameters, .. } = schema;
    dismantle(Value::Object(parameters));
    effect.dispose().await;
}

// spec: code-mode/C2, C3, C5, C8
#[tokio::test]
async fn run_code_takes_two_texts_is_described_for_the_language_and_runs_alone() {
    let fixture = Fixture::new(Mode::Code).await;
    let run_code = || fixture.tools().get(RUN_CODE, None).unwrap();
    for (language, word) in [("typescript", "TypeScript"), ("python", "Python")] {
        let runtime = fixture.speaks(language);
        let tool = run_code();
        let schema = tool.schema();
        let parameters = Value::Object(schema.parameters.clone());
        assert_eq!(parameters["required"], json!(["code", "description"]));
        let texts: Vec<&str> = ["code", "description"]
            .map(|name| parameters["properties"][name]["description"].as_str().unwrap())
            .to_vec();
        assert_eq!(parameters["properties"]["code"]["type"], "string");
        assert_eq!(parameters["properties"]["description"]["type"], "string");
        assert!(texts[0].contains(word) && texts[1].contains("5 to 10 words"), "{texts:?}");
        for told in
            [word, "`code`", "`description`", "async", "`return`", "`await", "tools.name(args)", "Images"]
        {
            assert!(schema.description.contains(told), "{told}: {}", schema.description);
        }
        assert_eq!(schema.description.contains("erased"), language == "typescript");
        runtime.dispose().await;
    }
    let tool = run_code();
    assert_eq!(
        **tool.output(),
        json!({
            "type": "object",
            "properties": { "logs": { "type": "array", "items": { "type": "string" } }, "result": {} },
            "required": ["logs"],
            "additionalProperties": false,
        })
    );
    assert!(!tool.is_parallel(&json!({ "code": "", "description": "x" })));
    assert_eq!(tool.timeout(), None);
}

// spec: code-mode/C4
#[tokio::test]
async fn without_a_runtime_run_code_is_described_for_typescript() {
    let fixture = Fixture::new(Mode::Code).await;
    let before = Arc::clone(&fixture.tools().get(RUN_CODE, None).unwrap());
    assert!(before.schema().description.contains("TypeScript"));
    fixture.speaks("python");
    assert!(fixture.tools().get(RUN_CODE, None).unwrap().schema().description.contains("Python"));
}

// spec: code-mode/C7
#[tokio::test]
async fn a_program_is_shown_as_a_card_and_its_result_as_it_is() {
    let fixture = Fixture::new(Mode::Code).await;
    let tool = fixture.tools().get(RUN_CODE, None).unwrap();
    let arguments = json!({ "code": "return 1", "description": "Give one" });
    let view = serde_json::to_value(tool.present_call(&arguments).unwrap()).unwrap();
    let card = json!({ "card": "generic", "title": "Give one", "kind": "execute", "rawInput": "return 1" });
    assert_eq!(view, card);
    assert_eq!(tool.present_call(&json!({ "code": 1 })), None);
    assert_eq!(tool.present_result(&arguments, LoggedResult::default()), None);
}
