//! The declarations of tools in TypeScript.

use dsh_tools::Mode;
use serde_json::{Value, json};

use crate::fixture::Fixture;

const TAIL: &str = r#"type ToolName = keyof ToolOutputMap

declare class ToolCallError extends Error {
  readonly name: "ToolCallError";
  readonly toolName: ToolName;
}

declare const tools: {
  [K in ToolName]: (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;
}
"#;

async fn declared(tools: &[(&'static str, &'static str, Value, Value)]) -> String {
    let fixture = Fixture::new(Mode::Code).await;
    fixture.speaks("typescript");
    for (name, description, parameters, output) in tools {
        fixture.declare(name, description, parameters.clone(), output.clone());
    }
    fixture.declarations().await
}

/// Checks both interfaces; what surrounds them is always the same.
async fn check(tools: &[(&'static str, &'static str, Value, Value)], arguments: &str, outputs: &str) {
    let head =
        "type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }";
    let expected = format!(
        "{head}\n\ninterface ToolArgsMap {{\n{arguments}}}\n\ninterface ToolOutputMap {{\n{outputs}}}\n\n{TAIL}"
    );
    assert_eq!(declared(tools).await, expected);
}

fn closed(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

// spec: code-mode/C49
#[tokio::test]
async fn no_tools_are_two_empty_interfaces() {
    let text = declared(&[]).await;
    assert!(
        text.contains("\n\ninterface ToolArgsMap {}\n\ninterface ToolOutputMap {}\n\ntype ToolName"),
        "{text}"
    );
    assert!(text.ends_with(TAIL), "{text}");
}

// spec: code-mode/C49, C50, C52, C53
#[tokio::test]
async fn tools_are_members_of_two_interfaces_with_their_descriptions_on_the_first() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Where\n  it is */ x" },
            "odd-key": { "type": "number" },
            "$ok_1": { "type": "integer", "description": "  " },
        },
        "required": ["path"],
    });
    let output = json!({
        "type": "object",
        "properties": { "lines": { "type": "array", "items": { "type": "string" } } },
        "required": ["lines"],
        "additionalProperties": false,
    });
    let tools = [
        ("read", "Reads  a\n file. */ end", parameters, output),
        ("odd name", "", json!({ "type": "object" }), json!({ "type": "string" })),
        (
            "2nd",
            "Closed.",
            json!({ "type": "object", "additionalProperties": false }),
            json!({ "type": "null" }),
        ),
    ];
    let arguments = r#"  /** Closed. */
  "2nd": Record<string, never>;
  "odd name": Record<string, JsonValue>;
  /** Reads a file. *\/ end */
  read: {
    /** Where it is *\/ x */
    path: string;
    "odd-key"?: number;
    $ok_1?: number;
  } & Record<string, JsonValue>;
"#;
    let outputs = r#"  "2nd": null;
  "odd name": string;
  read: {
    lines: string[];
  };
"#;
    check(&tools, arguments, outputs).await;
}

// spec: code-mode/C51, C52
#[tokio::test]
async fn every_type_of_a_schema_has_one_in_typescript() {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let arguments = closed(json!({
        "any": {},
        "flag": { "type": "boolean" },
        "list": { "type": "array" },
        "text": { "type": "string", "enum": ["a\"b", "c\n"] },
        "one": { "type": "string", "enum": ["only"] },
        "exact": { "type": "number", "const": 2.5, "enum": [1, 2.5] },
        "large": { "type": "number", "enum": [1e21, -3] },
        "nothing": { "type": "null", "const": null },
        "nested": closed(json!({ "inner": text("Deep.") })),
        "lists": { "type": "array", "items": { "type": "array", "items": { "oneOf": [{ "type": "string" }, { "type": "null" }] } } },
        "ones": { "type": "array", "items": { "type": "string", "enum": ["o"] } },
        "twos": { "type": "array", "items": { "type": "string", "enum": ["o", "p"] } },
        "closed": { "type": "array", "items": closed(json!({ "x": { "type": "integer" } })) },
        "open": { "type": "array", "items": { "type": "object", "properties": { "x": {} } } },
        "bare": { "type": "array", "items": { "type": "object" } },
        "union": { "oneOf": [{ "type": "object", "properties": { "k": { "type": "boolean", "const": true } } }, { "type": "array", "items": {} }] },
    }));
    let expected = r#"  t: {
    any?: JsonValue;
    flag?: boolean;
    list?: JsonValue[];
    text?: "a\"b" | "c\n";
    one?: "only";
    exact?: 2.5;
    large?: 1e+21 | -3;
    nothing?: null;
    nested?: {
      /** Deep. */
      inner?: string;
    };
    lists?: (string | null)[][];
    ones?: "o"[];
    twos?: ("o" | "p")[];
    closed?: {
      x?: number;
    }[];
    open?: ({
      x?: JsonValue;
    } & Record<string, JsonValue>)[];
    bare?: Record<string, JsonValue>[];
    union?: {
      k?: true;
    } & Record<string, JsonValue> | JsonValue[];
  };
"#;
    check(&[("t", "", arguments, json!({}))], expected, "  t: JsonValue;\n").await;
}

// spec: code-mode/C48, C52
#[tokio::test]
async fn what_is_not_supported_is_unknown_and_the_rest_stays() {
    let foreign = json!({ "type": "object", "properties": { "x": { "$ref": "#/x" } } });
    let odd = json!({ "type": "object", "properties": { "x": { "type": ["string", "null"] } } });
    let tools =
        [("a", "", foreign, json!({})), ("b", "", odd, json!({})), ("c", "", closed(json!({})), json!({}))];
    check(
        &tools,
        "  a: unknown;\n  b: unknown;\n  c: Record<string, never>;\n",
        "  a: JsonValue;\n  b: JsonValue;\n  c: JsonValue;\n",
    )
    .await;
}

// spec: code-mode/C48
#[tokio::test]
async fn unions_and_lists_of_any_depth_are_declared() {
    for language in ["typescript", "python"] {
        let fixture = Fixture::new(Mode::Code).await;
        fixture.speaks(language);
        let (lists, unions) = deep(5_000);
        let mut properties = serde_json::Map::new();
        properties.insert("lists".to_owned(), lists);
        properties.insert("unions".to_owned(), unions);
        let mut parameters = serde_json::Map::new();
        parameters.insert("type".to_owned(), "object".into());
        parameters.insert("properties".to_owned(), Value::Object(properties));
        let tool = dsh_tools::ToolDefinition::raw("t", "", Value::Object(parameters));
        fixture.tools().register(&fixture.app, tool.run(async |_, _| Ok(Value::Null))).unwrap();
        let text = fixture.declarations().await;
        let (list, union) = match language {
            "typescript" => ("lists?: string[][][]", "unions?: null | string | string"),
            _ => ("lists: NotRequired[list[list[", "unions: NotRequired[None | str | str"),
        };
        assert!(text.contains(list) && text.contains(union), "{}", &text[..400]);
    }
}

/// A list of lists and a union of unions.
fn deep(levels: usize) -> (Value, Value) {
    let mut lists = json!({ "type": "string" });
    let mut unions = json!({ "type": "null" });
    for _ in 0..levels {
        let mut list = serde_json::Map::new();
        list.insert("type".to_owned(), "array".into());
        list.insert("items".to_owned(), lists);
        lists = Value::Object(list);
        let mut union = serde_json::Map::new();
        union.insert("oneOf".to_owned(), Value::Array(vec![unions, json!({ "type": "string" })]));
        unions = Value::Object(union);
    }
    (lists, unions)
}
