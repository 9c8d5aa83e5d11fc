//! What programs can be given: names that every language can have, and functions that pass lossless JSON.

use dsh_tools::{
    BindingError, BindingFailure, BindingFuture, CodeRequest, Namespace, is_reserved_error_member,
    is_reserved_global, is_usable_identifier,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn echo(_: &str, arguments: Value) -> BindingFuture {
    Box::pin(std::future::ready(Ok(arguments)))
}

fn namespace(global: &str) -> Result<Namespace, BindingError> {
    Namespace::new(global, ["f".to_owned()], echo)
}

// spec: code-mode/C63
#[test]
fn usable_identifiers_are_no_words_of_either_language() {
    for name in ["tools", "_x", "A1", "x_1", "__main__", "of", "self", "print", "Tools", "async_"] {
        assert!(is_usable_identifier(name), "{name}");
    }
    let words = [
        "class",
        "await",
        "async",
        "None",
        "True",
        "true",
        "null",
        "match",
        "type",
        "_",
        "arguments",
        "eval",
        "let",
        "static",
        "lambda",
        "function",
        "enum",
        "elif",
        "yield",
        "package",
        "debugger",
        "nonlocal",
        "case",
    ];
    for name in words.into_iter().chain(["", "1x", "x-y", "é", "a b", "$x", "x.y", "\u{ff41}"]) {
        assert!(!is_usable_identifier(name), "{name}");
    }
}

// spec: code-mode/C64
#[test]
fn some_globals_and_members_are_the_programs_own() {
    for name in ["console", "__dsh_main__", "__builtins__", "__name__", "__debug__"] {
        assert!(is_reserved_global(name), "{name}");
    }
    assert!(!is_reserved_global("tools"));
    for name in ["name", "message", "stack", "args", "with_traceback", "add_note", "__cause__", "__x__"] {
        assert!(is_reserved_error_member(name), "{name}");
    }
    for name in ["toolName", "____", "__x", "x__", "names"] {
        assert!(!is_reserved_error_member(name), "{name}");
    }
}

// spec: code-mode/C62, C63, C64
#[test]
fn what_programs_cannot_have_is_refused_before_it_is_asked_for() {
    let request = || CodeRequest::new("program", &CancellationToken::new());
    let refusals = [
        (namespace("class").unwrap_err(), "binding global \"class\" is not a usable identifier"),
        (namespace("").unwrap_err(), "binding global \"\" is not a usable identifier"),
        (namespace("console").unwrap_err(), "reserved binding global \"console\""),
        (
            request().with(namespace("a").unwrap()).unwrap().with(namespace("a").unwrap()).unwrap_err(),
            "duplicate binding global \"a\"",
        ),
        (
            namespace("a").unwrap().error_class("console", "tool").unwrap_err(),
            "binding error class \"console\" is not a usable identifier, or is reserved",
        ),
        (namespace("a").unwrap().error_class("a", "tool").unwrap_err(), "duplicate injected global \"a\""),
        (
            request()
                .with(namespace("a").unwrap().error_class("E", "tool").unwrap())
                .unwrap()
                .with(namespace("b").unwrap().error_class("E", "tool").unwrap())
                .unwrap_err(),
            "duplicate injected global \"E\"",
        ),
        (
            namespace("a").unwrap().error_class("E", "message").unwrap_err(),
            "binding error member property \"message\" is not usable",
        ),
    ];
    for (refusal, told) in refusals {
        assert_eq!(refusal.to_string(), told);
    }
    let two = request().with(namespace("a").unwrap()).unwrap().with(namespace("b").unwrap()).unwrap();
    let globals: Vec<&str> = two.namespaces().iter().map(Namespace::global).collect();
    assert_eq!((two.program(), globals), ("program", vec!["a", "b"]));
}

// spec: code-mode/C65
#[tokio::test]
async fn only_lossless_json_passes_a_binding_in_either_direction() {
    let lossy: Value = serde_json::from_str("[12345678901234567890123]").unwrap();
    let given = lossy.clone();
    let gives = move |name: &str, arguments: Value| -> BindingFuture {
        let value = if name == "lossy" { given.clone() } else { arguments };
        Box::pin(std::future::ready(Ok(value)))
    };
    let names = ["echo", "lossy", "__proto__"].map(str::to_owned);
    let functions = Namespace::new("tools", names, gives).unwrap();
    let failure = |text: &str| Err(BindingFailure(text.to_owned()));
    assert_eq!(functions.call("echo", json!({ "a": 1 })).await, Ok(json!({ "a": 1 })));
    assert_eq!(functions.call("__proto__", json!(1)).await, Ok(json!(1)));
    assert_eq!(functions.call("echo", lossy).await, failure("binding arguments must be lossless JSON"));
    assert_eq!(functions.call("lossy", json!(1)).await, failure("binding resolution must be lossless JSON"));
    assert_eq!(functions.call("toString", json!(1)).await, failure("unknown binding \"tools.toString\""));
}
