//! From the value that a body gives to what the model reads.

use dsh_llm::ContentBlock;
use dsh_tools::{ErrorInfo, Failure, ToolDefinition, ToolError, ToolOutcome};
use serde_json::{Value, json};

use crate::fixture::{Fixture, contexts, message, tool};

fn gives(value: &Value, output: &Value) -> ToolDefinition {
    let value = value.clone();
    ToolDefinition::raw("t", "Gives a value.", json!({ "type": "object" })).output(output.clone()).run(
        move |_, run| {
            let value = value.clone();
            async move {
                run.defer_context(message("kept"));
                run.conclude_turn();
                run.write("written");
                Ok(value)
            }
        },
    )
}

fn invalid(violations: &str) -> ToolOutcome {
    let message = format!("tool \"t\" returned invalid output: {violations}");
    let failure = Failure::new(message).coded(ErrorInfo::INVALID_TOOL_OUTPUT).with_output("written");
    ToolOutcome::failure(failure)
}

fn bare(outcome: &ToolOutcome) -> ToolOutcome {
    ToolOutcome::failure(outcome.as_failure().unwrap().clone())
}

// spec: tools/T66
#[tokio::test]
async fn a_value_of_any_shape_is_shown() {
    for (value, text) in [
        (json!(null), "(the tool ended without giving a result)"),
        (json!(false), "false"),
        (json!(0), "0"),
        (json!(""), ""),
        (json!("text"), "text"),
        (json!([1]), "[\n  1\n]"),
    ] {
        let fixture = Fixture::with(gives(&value, &json!({}))).await;
        let outcome = fixture.call("t").await;
        assert_eq!((outcome.text().as_str(), outcome.value()), (text, Some(&value)));
    }
}

// spec: tools/T66, tools/T67, tools/T76, tools/T77
#[tokio::test]
async fn a_value_that_is_not_what_the_tool_declares_is_an_error_with_all_that_is_wrong() {
    let output = json!({
        "type": "object", "additionalProperties": false, "required": ["n"],
        "properties": { "n": { "type": "integer" }, "l": { "type": "array", "items": { "type": "boolean" } } },
    });
    let fixture = Fixture::with(gives(&json!({ "l": [true, 1], "extra": 1 }), &output)).await;
    let outcome = fixture.call("t").await;
    let violations = "missing required property \"value.n\"; \"value.l[1]\" must be a boolean; \
                      \"value.extra\" is not a declared property (additionalProperties: false)";
    assert_eq!(bare(&outcome), invalid(violations));
    assert_eq!((contexts(&outcome), outcome.concludes_turn()), (vec!["kept".to_owned()], false));
}

// spec: tools/T66
#[tokio::test]
async fn a_number_that_other_readers_would_round_is_no_value() {
    let value: Value = serde_json::from_str("[0.1000000000000000055]").unwrap();
    let fixture = Fixture::with(gives(&value, &json!({}))).await;
    assert_eq!(bare(&fixture.call("t").await), invalid("value is not lossless JSON"));
}

// spec: tools/T38
#[tokio::test]
async fn a_value_of_any_depth_is_an_outcome_and_never_a_crash() {
    let nested = |levels: usize| {
        move |_: dsh_tools::ToolRun| async move {
            let mut value = json!("bottom");
            for _ in 0..levels {
                value = Value::Array(vec![value]);
            }
            Ok(value)
        }
    };
    let fixture = Fixture::with(tool("deep", nested(1_000))).await;
    fixture.register(tool("deeper", nested(1_001)));
    fixture.register(tool("deepest", nested(1_000_000)));
    assert!(!fixture.call("deep").await.is_error());
    for name in ["deeper", "deepest"] {
        assert_eq!(fixture.call(name).await.code(), Some("INVALID_TOOL_OUTPUT"));
    }
}

// spec: tools/T66
#[tokio::test]
async fn a_projection_that_fails_is_an_error_that_names_it() {
    let object = || json!({ "type": "object" });
    let broken = || ToolDefinition::raw("t", "Breaks.", object()).run(async |_, _| Ok(json!(1)));
    for (tool, violation) in [
        (broken().render(|_, _| Err("cannot draw".into())), "output.render failed: cannot draw"),
        (
            broken().presentation_meta(|_, _| Err("cannot say".into())),
            "output.presentationMeta failed: cannot say",
        ),
    ] {
        let fixture = Fixture::with(tool).await;
        let outcome = fixture.call("t").await;
        let expected = format!("Error: tool \"t\" returned invalid output: {violation}");
        assert_eq!((outcome.text(), outcome.code()), (expected, Some("INVALID_TOOL_OUTPUT")));
    }
}

// spec: tools/T70
#[tokio::test]
async fn an_error_is_told_with_its_causes_and_has_a_kind_only_where_one_was_given() {
    #[derive(Debug, thiserror::Error)]
    #[error("the disk cannot be written")]
    struct Disk(#[source] std::io::Error);
    let fixture =
        Fixture::with(tool("plain", async |_| Err(Disk(std::io::Error::other("it is full")).into()))).await;
    let coded = async |_| Err(ToolError::new("full").coded(ErrorInfo::fixed("DiskError", "DISK_FULL")));
    fixture.register(tool("coded", coded));
    let plain = fixture.call("plain").await;
    assert_eq!(plain, ToolOutcome::failed("the disk cannot be written: it is full"));
    assert_eq!(plain.text(), "Error: the disk cannot be written: it is full");
    let coded = fixture.call("coded").await;
    assert_eq!(
        coded,
        ToolOutcome::failure(Failure::new("full").coded(ErrorInfo::fixed("DiskError", "DISK_FULL")))
    );
}

// spec: tools/T72
#[tokio::test]
async fn an_outcome_is_written_with_the_fields_of_the_reference() {
    let tool = gives(&json!(1), &json!({ "type": "integer" }))
        .render(|_, _| Ok(vec![ContentBlock::text("one")]))
        .presentation_meta(|_, _| Ok(json!({ "m": 1 })));
    let fixture = Fixture::with(tool).await;
    let outcome = fixture.call("t").await;
    let content = json!([{ "type": "text", "text": "one" }]);
    let contexts = serde_json::to_value(outcome.additional_contexts()).unwrap();
    assert_eq!(
        serde_json::to_value(&outcome).unwrap(),
        json!({
            "isError": false, "value": 1, "content": content, "meta": { "m": 1 },
            "additionalContexts": contexts, "concludesTurn": true,
        })
    );
    let failed = ToolOutcome::failure(Failure::new("no").coded(ErrorInfo::UNKNOWN_TOOL));
    assert_eq!(
        serde_json::to_value(&failed).unwrap(),
        json!({
            "isError": true,
            "error": { "message": "no", "info": { "name": "ToolNotFoundError", "code": "UNKNOWN_TOOL" } },
            "content": [{ "type": "text", "text": "Error: no" }],
        })
    );
}

// spec: tools/T71, tools/T76, tools/T77
#[test]
fn the_kinds_of_failure_have_the_names_and_codes_of_the_reference() {
    let kinds = [
        ErrorInfo::ABORTED,
        ErrorInfo::ABORTED_BEFORE_DISPATCH,
        ErrorInfo::UNKNOWN_TOOL,
        ErrorInfo::INVALID_ARGS,
        ErrorInfo::INVALID_TOOL_OUTPUT,
    ];
    let kinds = kinds.map(|kind| format!("{} {}", kind.name, kind.code));
    let expected = [
        "AbortError ABORTED",
        "AbortError ABORTED_BEFORE_DISPATCH",
        "ToolNotFoundError UNKNOWN_TOOL",
        "ToolArgsError INVALID_ARGS",
        "ToolOutputError INVALID_TOOL_OUTPUT",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(ToolOutcome::aborted_before_dispatch().text(), "Error: tool call aborted before dispatch");
    assert_eq!(ToolOutcome::failure(Failure::aborted()).text(), "Error: tool call aborted");
}
