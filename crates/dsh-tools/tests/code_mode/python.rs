//! The declarations of tools in Python.

use dsh_tools::Mode;
use serde_json::{Value, json};

use crate::fixture::Fixture;

type Declared = (&'static str, &'static str, Value, Value);

async fn declared(tools: &[Declared]) -> String {
    let fixture = Fixture::new(Mode::Code).await;
    fixture.speaks("python");
    for (name, description, parameters, output) in tools {
        fixture.declare(name, description, parameters.clone(), output.clone());
    }
    fixture.declarations().await
}

async fn check(tools: &[Declared], imported: &str, rest: &str) {
    let error = "class ToolCallError(Exception):\n    toolName: str";
    let expected = format!("from typing import {imported}\n\n{error}\n\n{rest}\n\ntools: Tools\n");
    assert_eq!(declared(tools).await, expected);
}

fn closed(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn yes() -> Value {
    json!({ "type": "boolean" })
}

// spec: code-mode/C58, C59
#[tokio::test]
async fn no_tools_are_a_protocol_that_says_nothing() {
    check(&[], "Protocol", "class Tools(Protocol):\n    pass").await;
}

// spec: code-mode/C54, C55, C58, C59
#[tokio::test]
async fn objects_are_typed_dictionaries_declared_before_what_needs_them() {
    let arguments = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Where\n it is" },
            "how_far": closed(json!({ "lines": { "type": "integer" } })),
            "marks": { "type": "array", "items": closed(json!({ "at": { "type": "number" } })) },
        },
        "required": ["path"],
    });
    let output = json!({
        "oneOf": [
            closed(json!({ "m": text() })),
            { "type": "array", "items": closed(json!({ "n": text() })) },
            { "type": "null" },
        ],
    });
    let rest = r#"class ReadFileArgsHowFar(TypedDict):
    lines: NotRequired[int]

class ReadFileArgsMarks(TypedDict):
    at: NotRequired[float]

class ReadFileArgs(TypedDict):
    # Where it is
    path: str
    how_far: NotRequired[ReadFileArgsHowFar]
    marks: NotRequired[list[ReadFileArgsMarks]]
    # Keys that are not declared here are allowed too.

class ReadFileOutput1(TypedDict):
    m: NotRequired[str]

class ReadFileOutput2(TypedDict):
    n: NotRequired[str]

class Tools(Protocol):
    async def read_file(self, args: ReadFileArgs) -> ReadFileOutput1 | list[ReadFileOutput2] | None:
        """Reads \"it\" \\ now""""#;
    check(
        &[("read_file", "Reads \"it\" \\\n now", arguments, output)],
        "NotRequired, Protocol, TypedDict",
        rest,
    )
    .await;
}

// spec: code-mode/C56, C59, C60
#[tokio::test]
async fn every_type_of_a_schema_has_one_in_python() {
    let arguments = closed(json!({
        "any": {},
        "number": { "type": "number" },
        "list": { "type": "array" },
        "text": { "type": "string", "enum": ["a\"b", "c\\d", "e\nf", "é\u{2028}\u{85}\u{1}😀"] },
        "whole": { "type": "integer", "enum": [1, -2, 9007199254740993_u64, 1e21] },
        "part": { "type": "number", "enum": [1.0, 2.5] },
        "flags": { "type": "boolean", "enum": [true, false] },
        "nothing": { "type": "null", "enum": [null] },
        "open": { "type": "object" },
        "lists": { "type": "array", "items": { "type": "array", "items": { "oneOf": [{ "type": "string" }, { "type": "integer" }] } } },
    }));
    let rest = "class TArgs(TypedDict):
    any: NotRequired[Any]
    number: NotRequired[float]
    list: NotRequired[list[Any]]
    text: NotRequired[Literal[\"a\\\"b\", \"c\\\\d\", \"e\\nf\", \"é\u{2028}\u{85}\\u0001😀\"]]
    whole: NotRequired[Literal[1, -2, 9007199254740993, 1000000000000000000000]]
    part: NotRequired[Literal[1, 2.5]]
    flags: NotRequired[Literal[True, False]]
    nothing: NotRequired[None]
    open: NotRequired[dict[str, Any]]
    lists: NotRequired[list[list[str | int]]]

class Tools(Protocol):
    async def t(self, args: TArgs) -> Literal[5]: ...";
    let output = json!({ "type": "integer", "const": 5 });
    check(&[("t", "", arguments, output)], "Any, Literal, NotRequired, Protocol, TypedDict", rest).await;
}

// spec: code-mode/C56
#[tokio::test]
async fn lists_are_any_where_brackets_would_go_deeper_than_180() {
    let lists =
        |levels: usize| (0..levels).fold(text(), |items, _| json!({ "type": "array", "items": items }));
    let arguments = json!({
        "type": "object",
        "properties": { "a": lists(180), "b": lists(181), "c": lists(179), "d": lists(180) },
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    let declared = declared(&[("t", "", arguments, yes())]).await;
    let nested =
        |levels: usize, inner: &str| format!("{}{inner}{}", "list[".repeat(levels), "]".repeat(levels));
    let fields = [
        format!("    a: {}\n", nested(180, "str")),
        format!("    b: {}\n", nested(180, "Any")),
        format!("    c: NotRequired[{}]\n", nested(179, "str")),
        format!("    d: NotRequired[{}]\n", nested(179, "Any")),
    ];
    assert!(declared.contains(&fields.concat()), "{declared}");
}

// spec: code-mode/C57
#[tokio::test]
async fn objects_whose_fields_no_class_can_have_are_plain_dictionaries() {
    for field in ["class", "None", "__debug__", "__x", "ﬁ", "b-c", "", "9"] {
        let mut properties = serde_json::Map::new();
        properties.insert(field.to_owned(), text());
        let rest = "class Tools(Protocol):\n    async def t(self, args: dict[str, Any]) -> bool: ...";
        check(&[("t", "", closed(Value::Object(properties)), yes())], "Any, Protocol", rest).await;
    }
    let legal = closed(
        json!({ "_": text(), "__ok__": text(), "match": text(), "type": text(), "ünï": text(), "self": text() }),
    );
    let text = declared(&[("t", "", legal, yes())]).await;
    assert!(text.contains("    _: NotRequired[str]\n    __ok__: NotRequired[str]\n    match: "), "{text}");
}

// spec: code-mode/C58
#[tokio::test]
async fn tools_that_no_method_can_be_called_are_declared_in_comments() {
    let nothing = || json!({ "type": "object" });
    let tools = [
        ("", "Empty.", nothing(), yes()),
        ("async", "Reserved.\u{1}", nothing(), yes()),
        ("_x", "", nothing(), yes()),
        ("__init__", "Own.", nothing(), yes()),
        ("a\"b\n", "Odd.", nothing(), yes()),
        ("ﬁx", "Composed.", nothing(), yes()),
        ("match", "Soft.\u{7f}", nothing(), yes()),
    ];
    let rest = r##"class Tools(Protocol):
    # tools[""](args: dict[str, Any]) -> bool
    #   Empty.
    # tools["__init__"](args: dict[str, Any]) -> bool
    #   Own.
    # tools["_x"](args: dict[str, Any]) -> bool
    # tools["a\"b\n"](args: dict[str, Any]) -> bool
    #   Odd.
    # tools["async"](args: dict[str, Any]) -> bool
    #   Reserved.\x01
    async def match(self, args: dict[str, Any]) -> bool:
        """Soft.\\x7f"""
    # tools["ﬁx"](args: dict[str, Any]) -> bool
    #   Composed."##;
    check(&tools, "Any, Protocol", rest).await;
}

// spec: code-mode/C58
#[tokio::test]
async fn a_protocol_of_comments_alone_says_pass_first() {
    let rest = "class Tools(Protocol):\n    pass\n    # tools[\"a b\"](args: dict[str, Any]) -> bool";
    check(&[("a b", "", json!({ "type": "object" }), yes())], "Any, Protocol", rest).await;
}

// spec: code-mode/C54
#[tokio::test]
async fn classes_are_called_after_their_tools_and_numbered_where_two_would_be_called_the_same() {
    let long: &'static str = Box::leak("x".repeat(130).into_boxed_str());
    let of = |name| (name, "", closed(json!({ "a": text() })), yes());
    let nested = (long, "", closed(json!({ "b": closed(json!({ "c": text() })) })), yes());
    let tools = [
        of("read_file"),
        of("readFile"),
        of("ReadFile"),
        of("2nd"),
        of(""),
        of("_under"),
        of("HTTPServer"),
        of("a__b--c d"),
        of("aⅣ"),
        of("日本"),
        of("x²y"),
        nested,
    ];
    let text = declared(&tools).await;
    let classes: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("class ")?.strip_suffix("(TypedDict):")).collect();
    let base = format!("X{}", "x".repeat(119));
    let second = format!("{base}2");
    let expected = [
        "ToolArgs",
        "Tool2ndArgs",
        "HTTPServerArgs",
        "ReadFileArgs",
        "UnderArgs",
        "ABCDArgs",
        "AIVArgs",
        "ReadFileArgs2",
        "ReadFileArgs3",
        "XYArgs",
        &second,
        &base,
        "日本Args",
    ];
    let mut sorted = (classes.clone(), expected.to_vec());
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    assert_eq!(sorted.0, sorted.1);
    let place = |name: &str| classes.iter().position(|class| *class == name).unwrap();
    assert!(place(&second) < place(&base), "children come first");
    assert!(
        place("ReadFileArgs") < place("ReadFileArgs2") && place("ReadFileArgs2") < place("ReadFileArgs3")
    );
}
