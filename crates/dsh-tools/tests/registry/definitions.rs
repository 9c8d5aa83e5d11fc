//! What others may know of a definition, and what its code is asked.

use std::sync::Arc;
use std::time::Duration;

use dsh_llm::ContentBlock;
use dsh_tools::{
    CallView, LoggedResult, ResultView, ToolCall, ToolDefinition, ToolOutcome, ViewKind, dismantle,
};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::fixture::{Fixture, echo, give_back, named, registered};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "z": { "type": "string", "enum": ["a", "b"], "default": "a" },
            "a": { "type": "integer" },
        },
        "required": ["z"],
    })
}

fn whole() -> ToolDefinition {
    ToolDefinition::raw("whole", "Has all there is.", parameters())
        .checked()
        .output(json!({ "type": "object", "properties": { "z": { "type": "string" } } }))
        .run(give_back)
        .timeout(Duration::from_secs(5))
        .idempotent()
        .parallel_when(|arguments| arguments["z"] == "a")
        .render(|_, value| Ok(vec![ContentBlock::text(format!("rendered {}", value["z"]))]))
        .presentation_meta(|_, value| Ok(json!({ "meta of": value["z"] })))
        .finalize(|_, _| None)
        .present_call(|arguments| {
            Some(CallView::Generic {
                title: format!("call of {}", arguments["z"]),
                kind: Some(ViewKind::Other),
                raw_input: None,
                content: vec![],
                locations: vec![],
            })
        })
        .present_result(|_, LoggedResult { content, is_error: _, meta }| {
            Some(ResultView::Terminal { output: Some(format!("{content:?} {meta:?}")), ended: None })
        })
}

// spec: tools/T25, tools/T12, tools/T11
#[tokio::test]
async fn the_model_is_told_name_description_and_parameters_in_the_authors_order_and_nothing_else() {
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, whole()).unwrap();
    let told = serde_json::to_string(&fixture.tools().schemas(None)).unwrap();
    let expected =
        json!([{ "name": "whole", "description": "Has all there is.", "parameters": parameters() }]);
    assert_eq!(told, expected.to_string());
    let tool = registered(&fixture, "whole");
    assert_eq!(tool.timeout(), Some(Duration::from_secs(5)));
    assert_eq!((tool.is_idempotent(), tool.is_blocking()), (true, false));
    assert_eq!(**tool.output(), json!({ "type": "object", "properties": { "z": { "type": "string" } } }));
    assert!(
        Arc::ptr_eq(&tool, &registered(&fixture, "whole")),
        "one definition, however often it is asked for"
    );
}

// spec: tools/T25
#[tokio::test]
async fn who_reads_the_schemas_may_change_its_copy() {
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, whole()).unwrap();
    let mut copies = fixture.tools().schemas(None);
    copies[0].name.push('!');
    copies[0].parameters.insert("type".to_owned(), json!("array"));
    copies[0].parameters["properties"]["z"]["enum"] = json!([]);
    assert_eq!(Value::Object(fixture.tools().schemas(None).remove(0).parameters), parameters());
    assert_eq!(fixture.names(None), ["whole"]);
}

// spec: tools/T25, tools/T38
#[tokio::test]
async fn parameters_of_any_depth_are_registered_told_and_forgotten() {
    let fixture = Fixture::new().await;
    let deep = || {
        (0..20_000).fold(json!({ "type": "object" }), |inner, _| {
            let properties = Map::from_iter([("p".to_owned(), inner)]);
            let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
            schema.insert("properties".to_owned(), Value::Object(properties));
            Value::Object(schema)
        })
    };
    let (unchecked, checked) =
        (ToolDefinition::raw("a", "Deep.", deep()), ToolDefinition::raw("b", "Deep.", deep()));
    drop(ToolDefinition::raw("never registered", "Deep.", deep()).output(deep()));
    let tools = [unchecked.run(give_back), checked.checked().output(deep()).run(give_back)];
    let effects = tools.map(|tool| fixture.tools().register(&fixture.app, tool).unwrap());
    fixture
        .tools()
        .register(&fixture.app, ToolDefinition::raw("a", "Taken.", deep()).run(give_back))
        .unwrap_err();
    let list = ToolDefinition::raw("list", "None.", Value::Array(vec![deep()])).run(give_back);
    fixture.tools().register(&fixture.app, list).unwrap_err();
    for schema in fixture.tools().schemas(None) {
        dismantle(Value::Object(schema.parameters));
    }
    for effect in effects {
        effect.dispose().await;
    }
    assert_eq!(fixture.names(None), [""; 0]);
}

// spec: tools/T39, tools/T41, tools/T40
#[tokio::test]
async fn arguments_are_checked_before_the_body_where_the_tool_asks_for_it() {
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, whole()).unwrap();
    fixture.tools().register(&fixture.app, echo("raw").run(give_back)).unwrap();
    let refused = fixture.call("whole", json!({ "a": 1.5 })).await;
    assert_eq!(
        (refused.text().as_str(), refused.code()),
        (
            "Error: invalid arguments: missing required property \"z\"; \"a\" must be an integer",
            Some("INVALID_ARGS")
        )
    );
    assert!(fixture.call("whole", json!(7)).await.text().contains("\"arguments\" must be an object"));
    // Extra keys pass, and no default is filled in.
    let extra = json!({ "z": "b", "more": [1] });
    assert_eq!(fixture.call("whole", extra.clone()).await.value(), Some(&extra));
    for anything in [json!(7), json!([1]), json!("text"), json!({ "z": 1 })] {
        assert_eq!(fixture.call("raw", anything.clone()).await.value(), Some(&anything));
    }
}

// spec: tools/T39, tools/T87, tools/T95
#[tokio::test]
async fn arguments_that_the_tool_does_not_take_have_no_view_and_run_alone() {
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, whole()).unwrap();
    let tool = registered(&fixture, "whole");
    let right = json!({ "z": "a" });
    assert!(tool.is_parallel(&right));
    assert!(
        tool.present_call(&right).is_some() && tool.present_result(&right, LoggedResult::default()).is_some()
    );
    assert!(!tool.is_parallel(&json!({ "z": "b" })), "the tool says no");
    for wrong in [json!({}), json!({ "z": "a", "a": "x" }), json!(null), json!([]), json!("{\"z\":\"a\"}")] {
        assert!(!tool.is_parallel(&wrong), "{wrong}");
        assert_eq!(tool.present_call(&wrong), None, "{wrong}");
        assert_eq!(tool.present_result(&wrong, LoggedResult::default()), None, "{wrong}");
    }
}

// spec: tools/T87, tools/T95
#[tokio::test]
async fn code_that_breaks_is_no_view_and_no_leave_to_run_beside_others() {
    let fixture = Fixture::new().await;
    let broken = echo("broken")
        .run(give_back)
        .parallel_when(|_| panic!("no luck"))
        .present_call(|_| panic!("no luck"))
        .present_result(|_, _| panic!("no luck"));
    let effect = fixture.tools().register(&fixture.app, broken).unwrap();
    fixture.tools().register(&fixture.app, named("silent")).unwrap();
    let (broken, silent) = (registered(&fixture, "broken"), registered(&fixture, "silent"));
    for tool in [&broken, &silent] {
        assert!(!tool.is_parallel(&json!({})));
        assert_eq!(tool.present_call(&json!({})), None);
        assert_eq!(tool.present_result(&json!({}), LoggedResult::default()), None);
    }
    assert_eq!(fixture.call("broken", json!({ "a": 1 })).await.value(), Some(&json!({ "a": 1 })));
    effect.dispose().await;
    assert!(!broken.is_parallel(&json!({})));
}

// spec: tools/T39
#[tokio::test]
async fn the_finalizer_sees_the_call_as_it_is_and_the_result() {
    let fixture = Fixture::new().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let finalize = move |call: &ToolCall, outcome: &ToolOutcome| {
        log.lock().push((call.id().to_owned(), (**call.arguments()).clone(), outcome.is_error()));
        Some(vec![ContentBlock::text("final")])
    };
    let tool =
        ToolDefinition::raw("t", "Finalizes.", parameters()).checked().run(give_back).finalize(finalize);
    fixture.tools().register(&fixture.app, tool).unwrap();
    assert_eq!(fixture.call("t", json!({ "z": "a", "more": 1 })).await.text(), "final");
    assert_eq!(fixture.call("t", json!({})).await.text(), "final");
    let call = |arguments, failed| ("c1".to_owned(), arguments, failed);
    assert_eq!(*seen.lock(), [call(json!({ "z": "a", "more": 1 }), false), call(json!({}), true)]);
}

// spec: tools/T96
#[tokio::test]
async fn views_and_their_facts_never_reach_the_model() {
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, whole()).unwrap();
    let outcome = fixture.call("whole", json!({ "z": "a" })).await;
    assert_eq!(outcome.content(), [ContentBlock::text("rendered \"a\"")]);
    assert_eq!(outcome.meta(), Some(&json!({ "meta of": "a" })));
    let tool = registered(&fixture, "whole");
    let logged = LoggedResult { content: outcome.content(), is_error: false, meta: outcome.meta() };
    let view = tool.present_result(&json!({ "z": "a" }), logged);
    let output = format!("{:?} {:?}", outcome.content(), outcome.meta());
    assert_eq!(view, Some(ResultView::Terminal { output: Some(output), ended: None }));
}

// spec: tools/T87
#[tokio::test]
async fn a_raw_tool_that_is_parallel_is_so_for_all_arguments_that_it_takes() {
    let fixture = Fixture::new().await;
    for tool in [echo("open").run(give_back).parallel(), echo("checked").checked().run(give_back).parallel()]
    {
        fixture.tools().register(&fixture.app, tool).unwrap();
    }
    fixture.tools().register(&fixture.app, named("alone")).unwrap();
    let parallel = |arguments: &Value| {
        ["open", "checked", "alone"].map(|name| registered(&fixture, name).is_parallel(arguments))
    };
    assert_eq!(parallel(&json!({ "any": 1 })), [true, true, false]);
    assert_eq!(parallel(&json!([1])), [true, false, false]);
}
