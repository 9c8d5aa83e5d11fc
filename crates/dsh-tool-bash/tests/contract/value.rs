//! What a program gets of a call.

use std::time::Duration;

use dsh_shell::{ShellOutput, ShellResult};
use dsh_subprocess::Cut;
use dsh_tool_bash::Config;
use dsh_tools::{Schema, TOOLS};
use serde_json::{Value, json};

use crate::fixture::{execute, request, service};
use crate::scripted::{Scripted, ended, whole};

const CALL: &str = r#"{"command":"x","description":"x"}"#;

async fn value_of(scripted: &Scripted, result: ShellResult) -> Value {
    scripted.shell.ends(result);
    let outcome = execute(&scripted.app, request(&serde_json::from_str(CALL).unwrap())).await;
    outcome.value().unwrap_or_else(|| panic!("{}", outcome.text())).clone()
}

// spec: fs-shell-sandbox/F105
#[tokio::test]
async fn a_value_has_each_fact_by_itself() {
    let scripted = Scripted::new(Config::default()).await;
    assert_eq!(
        value_of(&scripted, ended("out")).await,
        json!({
            "kind": "foreground", "exitCode": 0, "signal": null, "timedOut": false, "aborted": false,
            "timeoutMs": 120000,
            "stdout": { "text": "out", "truncated": false },
            "stderr": { "text": "", "truncated": false },
        })
    );
    let cut = Cut { head: "a".to_owned(), dropped: 5, tail: "b".to_owned() };
    let result = ShellResult {
        exit_code: None,
        signal: Some("SIGTERM".to_owned()),
        timed_out: true,
        timeout: Duration::from_micros(1_500),
        stdout: ShellOutput { cut: cut.clone(), spill_path: Some("/s/1".into()) },
        stderr: ShellOutput { cut, spill_path: None },
        ..ended("")
    };
    assert_eq!(
        value_of(&scripted, result).await,
        json!({
            "kind": "foreground", "exitCode": null, "signal": "SIGTERM", "timedOut": true, "aborted": false,
            "timeoutMs": 1.5,
            "stdout": { "text": "a\n[5 bytes left out here]\nb", "truncated": true, "spillPath": "/s/1" },
            "stderr": { "text": "a\n[5 bytes left out here]\nb", "truncated": true },
        })
    );
}

// spec: fs-shell-sandbox/F105
#[tokio::test]
async fn the_schema_of_the_value_is_closed_and_names_both_kinds() {
    let scripted = Scripted::new(Config::default()).await;
    let tool = service(&scripted.app, TOOLS, |tools| tools.get("bash", None).unwrap());
    let raw = Value::clone(tool.output());
    let branches = raw["oneOf"].as_array().unwrap();
    assert_eq!(branches.len(), 2, "{raw:#}");
    let schema = Schema::new(raw.clone()).unwrap();
    let right = value_of(&scripted, ShellResult { stderr: whole("e"), ..ended("o") }).await;
    let job = json!({ "kind": "background", "jobId": "bash-1" });
    assert!(schema.accepts(&right) && schema.accepts(&job), "{raw:#}");
    let with = |value: &Value, name: &str, more: Value| {
        let mut value = value.clone();
        value[name] = more;
        value
    };
    for wrong in [
        with(&job, "more", json!(1)),
        with(&right, "more", json!(1)),
        with(&right, "stdout", json!({ "text": "o", "truncated": false, "more": 1 })),
        with(&right, "exitCode", json!("0")),
        with(&right, "kind", json!("background")),
        with(&job, "kind", json!("foreground")),
        json!("o"),
    ] {
        assert!(!schema.accepts(&wrong), "{wrong}");
    }
}
