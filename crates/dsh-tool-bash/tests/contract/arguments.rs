//! What a call may ask for.

use std::time::Duration;

use dsh_tool_bash::Config;
use dsh_tools::TOOLS;
use serde_json::{Value, json};

use crate::fixture::{execute, request, service};
use crate::scripted::Scripted;

async fn refused(scripted: &Scripted, arguments: Value) -> String {
    let outcome = execute(&scripted.app, request(&arguments)).await;
    assert!(outcome.is_error(), "{arguments}: {}", outcome.text());
    assert_eq!(scripted.shell.asked(), [], "nothing runs: {arguments}");
    outcome.text()
}

/// A call that is right, with more.
fn call(more: Value) -> Value {
    let mut call = json!({ "command": "ls", "description": "x" });
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

// spec: fs-shell-sandbox/F100
#[tokio::test]
async fn what_is_wrong_with_a_call_is_said_before_anything_runs() {
    let scripted = Scripted::new(Config::default()).await;
    let both = "missing required property \"command\"; missing required property \"description\"";
    for (arguments, message) in [
        (json!({}), format!("invalid arguments: {both}")),
        (call(json!({ "command": 1 })), "invalid arguments: \"command\" must be a string".to_owned()),
        (call(json!({ "timeoutMs": "100" })), "invalid arguments: \"timeoutMs\" must be a number".to_owned()),
        (call(json!({ "command": "" })), "invalid command: expected a non-empty string".to_owned()),
        (call(json!({ "command": " \n" })), "invalid command: expected a non-empty string".to_owned()),
        (call(json!({ "description": "" })), "invalid description: expected a non-empty string".to_owned()),
        (call(json!({ "description": "  " })), "invalid description: expected a non-empty string".to_owned()),
        (
            call(json!({ "timeoutMs": -5 })),
            "invalid timeoutMs: expected a positive number, got -5".to_owned(),
        ),
        (call(json!({ "timeoutMs": 0 })), "invalid timeoutMs: expected a positive number, got 0".to_owned()),
    ] {
        assert_eq!(refused(&scripted, arguments).await, format!("Error: {message}"));
    }
}

// spec: fs-shell-sandbox/F100, fs-shell-sandbox/F84
#[tokio::test]
async fn a_wish_for_wider_access_is_refused_where_nothing_is_confined() {
    let scripted = Scripted::new(Config::default()).await;
    for (more, message) in [
        (
            json!({ "sandbox_permissions": "danger-full-access" }),
            "Error: invalid escalation: sandbox_permissions requires a justification",
        ),
        (json!({ "justification": "it is needed" }), "Error: invalid escalation: "),
        (
            json!({ "sandbox_permissions": "workspace-write", "justification": " " }),
            "Error: invalid justification: expected a non-empty sentence",
        ),
        (
            json!({ "sandbox_permissions": "workspace-write", "justification": "it is needed" }),
            "Error: `sandbox_permissions` is unavailable because no sandbox confines commands here",
        ),
        (json!({ "sandbox_permissions": 5, "justification": "it is needed" }), "Error: invalid arguments: "),
    ] {
        let told = refused(&scripted, call(more)).await;
        assert!(told.starts_with(message), "{told}");
    }
}

// spec: fs-shell-sandbox/F100, fs-shell-sandbox/F95
#[tokio::test]
async fn the_shell_is_asked_for_the_command_and_its_time_and_reads_nothing() {
    let scripted = Scripted::new(Config::default()).await;
    for (timeout, asked) in [
        (Value::Null, None),
        (json!(300), Some(Duration::from_millis(300))),
        (json!(0.5), Some(Duration::from_micros(500))),
        (json!(1e300), Some(dsh_tools::MAX_DELAY)),
        (json!(1e-300), Some(Duration::from_nanos(1))),
    ] {
        let more = if timeout.is_null() { json!({}) } else { json!({ "timeoutMs": timeout }) };
        // What is not known is no mistake.
        let outcome = execute(&scripted.app, request(&call(more)).clone()).await;
        assert_eq!(outcome.text(), "ran");
        let [told] = scripted.shell.asked().try_into().unwrap();
        assert_eq!((told.command.as_str(), told.timeout, told.reads_nothing), ("ls", asked, true));
        assert_eq!((told.env, told.workdir), (vec![], None));
    }
    let outcome = execute(&scripted.app, request(&call(json!({ "env": { "A": "1" } })))).await;
    assert_eq!(outcome.text(), "ran");
    assert_eq!(scripted.shell.asked()[0].env, []);
}

// spec: fs-shell-sandbox/F100
#[tokio::test]
async fn the_model_is_told_the_parameters_and_of_the_background_only_where_there_is_one() {
    for (enabled, names) in [
        (true, vec!["command", "description", "timeoutMs", "workdir", "run_in_background"]),
        (false, vec!["command", "description", "timeoutMs", "workdir"]),
    ] {
        let config = Config { enable_run_in_background: enabled, ..Config::default() };
        let scripted = Scripted::new(config).await;
        let tool = service(&scripted.app, TOOLS, |tools| tools.get("bash", None).unwrap());
        let parameters = Value::Object(tool.schema().parameters.clone());
        let properties = parameters["properties"].as_object().unwrap();
        assert_eq!(properties.keys().collect::<Vec<_>>(), names);
        let types: Vec<&str> = properties.values().map(|it| it["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["string", "string", "number", "string", "boolean"][..names.len()]);
        assert!(properties.values().all(|it| !it["description"].as_str().unwrap().is_empty()));
        assert_eq!(parameters["required"], json!(["command", "description"]));
        assert_eq!(parameters.get("additionalProperties"), None);
        let description = &tool.schema().description;
        assert!(description.contains("in the background runs on until the session's end"), "{description}");
    }
}

#[tokio::test]
async fn no_two_commands_of_one_batch_run_side_by_side_nor_twice() {
    let scripted = Scripted::new(Config::default()).await;
    let tool = service(&scripted.app, TOOLS, |tools| tools.get("bash", None).unwrap());
    let call = call(json!({}));
    assert_eq!(
        (tool.is_parallel(&call), tool.is_idempotent(), tool.is_blocking(), tool.timeout()),
        (false, false, false, None)
    );
}
