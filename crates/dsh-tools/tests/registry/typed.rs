//! Tools of Rust types: their parameters, and one answer of schema and reader.

use std::sync::Arc;

use dsh_tools::{CallView, ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fixture::{Fixture, registered};

/// What to look for.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Search {
    /// The text.
    pattern: String,
    /// How many lines around each place.
    #[serde(default)]
    around: u8,
    /// Where; everywhere without it.
    folder: Option<String>,
    /// What else is given.
    #[serde(flatten)]
    more: std::collections::BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Found {
    /// How often.
    times: u64,
    around: u8,
    folder: Option<String>,
}

async fn search(search: Search, _run: ToolRun) -> Result<Found, ToolError> {
    let times = (search.pattern.len() + search.more.len()) as u64;
    Ok(Found { times, around: search.around, folder: search.folder })
}

// spec: tools/T36, tools/T39, tools/T25
#[tokio::test]
async fn fields_become_parameters_and_doc_comments_their_descriptions() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Copy {
        /// From where.
        source_path: String,
        /// How often.
        #[serde(default)]
        times: u32,
        options: Option<Options>,
    }
    /// What else matters.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Options {
        /// Whether to go on after a failure.
        lenient: bool,
    }
    async fn copy(_copy: Copy, _run: ToolRun) -> Result<(), ToolError> {
        Ok(())
    }
    let fixture = Fixture::new().await;
    fixture.tools().register(&fixture.app, tool("copy", "Copies.").run(copy)).unwrap();
    let schema = fixture.tools().schemas(None).remove(0);
    assert_eq!((schema.name.as_str(), schema.description.as_str()), ("copy", "Copies."));
    let mut options = json!({
        "type": "object",
        "properties": { "lenient": { "type": "boolean", "description": "Whether to go on after a failure." } },
        "required": ["lenient"],
        "additionalProperties": false,
    });
    options["description"] = json!("What else matters.");
    assert_eq!(
        Value::Object(schema.parameters),
        json!({
            "type": "object",
            "properties": {
                "sourcePath": { "type": "string", "description": "From where." },
                "times": { "type": "integer", "description": "How often.", "default": 0 },
                "options": options,
            },
            "required": ["sourcePath"],
        })
    );
    assert_eq!(**registered(&fixture, "copy").output(), json!({ "type": "null" }));
}

// spec: tools/T39, tools/T40, tools/T48, tools/T46
#[tokio::test]
async fn schema_and_reader_give_one_answer_about_every_argument() {
    let fixture = Fixture::new().await;
    let tool = tool("search", "Searches.").run(search).parallel().present_call(|search| CallView::Terminal {
        title: search.pattern.clone(),
        description: None,
        cwd: None,
    });
    fixture.tools().register(&fixture.app, tool).unwrap();
    let tool = registered(&fixture, "search");
    let found =
        |times: u64, around: u8, folder: Value| json!({ "times": times, "around": around, "folder": folder });
    for (arguments, value) in [
        (r#"{"pattern":"ab"}"#, found(2, 0, Value::Null)),
        (r#"{"pattern":"","around":5.0,"folder":"x"}"#, found(0, 5, json!("x"))),
        (r#"{"pattern":"","around":5e0}"#, found(0, 5, Value::Null)),
        (r#"{"pattern":"a","not declared":{"b":1}}"#, found(2, 0, Value::Null)),
    ] {
        let parsed: Value = serde_json::from_str(arguments).unwrap();
        assert!(tool.is_parallel(&parsed) && tool.present_call(&parsed).is_some(), "{arguments}");
        let outcome = fixture.call("search", parsed).await;
        assert_eq!(outcome.value(), Some(&value), "{arguments}: {}", outcome.text());
    }
    for (arguments, violation) in [
        (r#"{}"#, "missing required property \"pattern\""),
        (r#"{"pattern":7,"around":"x"}"#, "\"pattern\" must be a string; \"around\" must be an integer"),
        (r#"{"pattern":"a","around":5.5}"#, "\"around\" must be an integer"),
        (r#"{"pattern":"a","folder":null}"#, "\"folder\" must be a string"),
        (r#"[]"#, "\"arguments\" must be an object"),
        // What the schema has no words for is the reader's to refuse, in the same words.
        (r#"{"pattern":"a","around":300}"#, "\"around\" must be an integer from 0 to 255"),
        (r#"{"pattern":"a","around":-1}"#, "\"around\" must be an integer from 0 to 255"),
    ] {
        let parsed: Value = serde_json::from_str(arguments).unwrap();
        assert!(!tool.is_parallel(&parsed), "{arguments}");
        assert_eq!(tool.present_call(&parsed), None, "{arguments}");
        let outcome = fixture.call("search", parsed).await;
        assert_eq!(outcome.text(), format!("Error: invalid arguments: {violation}"));
        assert_eq!(outcome.code(), Some("INVALID_ARGS"));
    }
}

// spec: tools/T39
#[tokio::test]
async fn both_kinds_of_bodies_and_their_state_go_one_way() {
    #[derive(Deserialize, JsonSchema)]
    struct Add {
        to: i64,
    }
    let fixture = Fixture::new().await;
    let tools = fixture.tools();
    let plain = tool("plain", "Adds.").run(async |add: Add, _: ToolRun| Ok(add.to + 1));
    let state = tool("state", "Adds.")
        .with(10)
        .run(async |state: Arc<i64>, add: Add, _: ToolRun| Ok(add.to + *state));
    let blocking = tool("blocking", "Adds.").run_blocking(|add: Add, _: ToolRun| Ok(add.to + 1));
    let both =
        tool("both", "Adds.").with(10).run_blocking(|state: &i64, add: Add, _: ToolRun| Ok(add.to + state));
    tools.register(&fixture.app, plain).unwrap();
    tools.register(&fixture.app, state).unwrap();
    tools.register(&fixture.app, blocking).unwrap();
    tools.register(&fixture.app, both).unwrap();
    for (name, sum) in [("plain", 6), ("state", 15), ("blocking", 6), ("both", 15)] {
        assert_eq!(fixture.call(name, json!({ "to": 5 })).await.value(), Some(&json!(sum)), "{name}");
        let refused = fixture.call(name, json!({ "to": "5" })).await;
        assert_eq!(refused.text(), "Error: invalid arguments: \"to\" must be an integer", "{name}");
    }
    let blocking: Vec<bool> = tools.list(None).iter().map(|tool| tool.is_blocking()).collect();
    assert_eq!(blocking, [false, false, true, true]);
}

// spec: tools/T39, tools/T43
#[tokio::test]
async fn a_type_that_is_no_object_cannot_be_the_arguments() {
    async fn body(_text: String, _run: ToolRun) -> Result<(), ToolError> {
        Ok(())
    }
    let fixture = Fixture::new().await;
    let error = fixture.tools().register(&fixture.app, tool("t", "Takes a text.").run(body)).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(matches!(error, dsh_tools::RegisterError::Parameters { .. }), "{error}");
    assert!(cause.contains("schema.type must be \"object\""), "{cause}");
}

// spec: tools/T11
#[tokio::test]
async fn what_a_type_is_written_as_is_what_its_schema_says() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        always: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        maybe: Option<String>,
        #[serde(rename(serialize = "out", deserialize = "in"))]
        named: Option<Inner>,
        listed: Vec<Option<u8>>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Inner {
        deep: Option<bool>,
    }
    let fixture = Fixture::new().await;
    let body = async |_: Nothing, _: ToolRun| {
        let named = Some(Inner { deep: None });
        Ok(vec![
            Written { always: None, maybe: None, named, listed: vec![None, Some(1)] },
            Written { always: Some("a".into()), maybe: Some("b".into()), named: None, listed: vec![] },
        ])
    };
    fixture.tools().register(&fixture.app, tool("written", "Writes.").run(body)).unwrap();
    assert_eq!(
        fixture.call("written", json!({})).await.value(),
        Some(&json!([
            { "always": null, "out": { "deep": null }, "listed": [null, 1] },
            { "always": "a", "maybe": "b", "out": null, "listed": [] },
        ]))
    );
    let tool = registered(&fixture, "written");
    let output = &tool.output()["items"];
    assert_eq!(output["required"], json!(["always", "out", "listed"]));
    assert_eq!(
        output["properties"]["always"],
        json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] })
    );
    assert_eq!(output["properties"]["maybe"], json!({ "type": "string" }));
}

// spec: tools/T39
#[tokio::test]
async fn typed_projections_see_arguments_and_value_as_types() {
    let fixture = Fixture::new().await;
    let tool = tool("search", "Searches.")
        .run(search)
        .render_text(|search, found| format!("{} {} times", search.pattern, found.times))
        .presentation_meta(|search, found| (search.pattern.clone(), found.around));
    fixture.tools().register(&fixture.app, tool).unwrap();
    let outcome = fixture.call("search", json!({ "pattern": "ab", "around": 3 })).await;
    assert_eq!(outcome.text(), "ab 2 times");
    assert_eq!(outcome.meta(), Some(&json!(["ab", 3])));
    assert_eq!(outcome.value(), Some(&json!({ "times": 2, "around": 3, "folder": null })));
}
