//! What the model reads of a value when the tool does not say.

use dsh_llm::ContentBlock;
use dsh_tools::{ToolDefinition, ToolRun, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fixture::Fixture;

const NOTHING: &str = "(the tool ended without giving a result)";

// spec: tools/T11, tools/T47
#[tokio::test]
async fn a_value_of_any_shape_becomes_what_the_model_reads() {
    let fixture = Fixture::new().await;
    let shapes = [
        (Value::Null, NOTHING),
        (json!(""), ""),
        (json!("two\nlines"), "two\nlines"),
        (json!("null"), "null"),
        (json!(true), "true"),
        (json!(5), "5"),
        (json!(0.5), "0.5"),
        (json!([]), "[]"),
        (json!(["a", 1]), "[\n  \"a\",\n  1\n]"),
        (json!({}), "{}"),
        (json!({ "z": 1, "a": null }), "{\n  \"z\": 1,\n  \"a\": null\n}"),
    ];
    for (place, (value, text)) in shapes.into_iter().enumerate() {
        let name = place.to_string();
        let given = value.clone();
        let tool =
            ToolDefinition::raw(name.clone(), "Gives it.", json!({ "type": "object" })).run(move |_, _| {
                let value = given.clone();
                async { Ok(value) }
            });
        fixture.tools().register(&fixture.app, tool).unwrap();
        let outcome = fixture.call(&name, json!({})).await;
        assert_eq!((outcome.content(), outcome.value()), (&[ContentBlock::text(text)][..], Some(&value)));
    }
}

// spec: tools/T11
#[tokio::test]
async fn a_body_that_gives_nothing_or_no_answer_is_told_as_such() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    #[derive(Serialize, JsonSchema)]
    struct Unit;
    let fixture = Fixture::new().await;
    let tools = fixture.tools();
    let app = &fixture.app;
    tools.register(app, tool("unit", "Gives nothing.").run(async |_: Nothing, _: ToolRun| Ok(()))).unwrap();
    tools
        .register(app, tool("none", "Gives none.").run(async |_: Nothing, _: ToolRun| Ok(None::<u8>)))
        .unwrap();
    tools
        .register(app, tool("some", "Gives some.").run(async |_: Nothing, _: ToolRun| Ok(Some(7_u8))))
        .unwrap();
    tools.register(app, tool("struct", "A unit.").run(async |_: Nothing, _: ToolRun| Ok(Unit))).unwrap();
    for (name, text) in [("unit", NOTHING), ("none", NOTHING), ("some", "7"), ("struct", NOTHING)] {
        let outcome = fixture.call(name, json!({})).await;
        assert_eq!((outcome.text().as_str(), outcome.is_error()), (text, false), "{name}");
    }
}

// spec: tools/T11, tools/T47
#[tokio::test]
async fn a_value_that_is_no_json_is_an_error_that_names_the_tool() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    #[derive(Serialize, JsonSchema)]
    struct Keyed {
        map: std::collections::BTreeMap<(u8, u8), u8>,
    }
    let fixture = Fixture::new().await;
    let keyed = async |_: Nothing, _: ToolRun| Ok(Keyed { map: [((1, 2), 3)].into() });
    fixture.tools().register(&fixture.app, tool("keyed", "Gives it.").run(keyed)).unwrap();
    let outcome = fixture.call("keyed", json!({})).await;
    assert_eq!(outcome.code(), Some("INVALID_TOOL_OUTPUT"));
    assert!(
        outcome.text().starts_with("Error: the tool's value cannot be written as JSON: "),
        "{}",
        outcome.text()
    );
    let negative = ToolDefinition::raw("negative", "Gives -0.", json!({ "type": "object" }))
        .run(async |_, _| Ok(json!(-0.0)));
    fixture.tools().register(&fixture.app, negative).unwrap();
    assert_eq!(
        fixture.call("negative", json!({})).await.text(),
        "Error: tool \"negative\" returned invalid output: value is not lossless JSON"
    );
}
