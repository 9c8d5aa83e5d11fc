#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::Arc;
use std::time::Duration;

use cordis::{App, Next};
use dsh_agent::testing::agent;
use dsh_session::Session;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::call::CallRequest;
use crate::config::Config;
use crate::definition::ToolDefinition;
use crate::keys::{EXECUTE, POST_EXECUTE};
use crate::mode::Mode;
use crate::outcome::ToolOutcome;
use crate::runtime::ToolRuntime;
use crate::settled::Settled;
use crate::{ExecutionMode, PostDecision, ToolCall};

// spec: tools/T123, code-mode/C84
#[tokio::test(start_paused = true)]
async fn a_nested_call_reaches_tools_that_cannot_be_called_directly() {
    let app = App::new().unwrap();
    let tools = Arc::new(ToolRuntime::new(&Config::default()));
    let (agent, _inbox) = agent(&app, Session::detached("s-1")).unwrap();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();

    let told = log.clone();
    let object = || json!({ "type": "object" });
    let leaf = ToolDefinition::raw("leaf", "A leaf.", object()).output(json!({ "type": "string" }));
    let leaf = leaf.run(move |arguments: Arc<Value>, _run| {
        let told = told.clone();
        async move {
            told.lock().push(format!("{} enter", arguments["n"]));
            tokio::time::sleep(Duration::from_millis(10)).await;
            told.lock().push(format!("{} leave", arguments["n"]));
            Ok(json!("leaf"))
        }
    });
    tools.register(&app, leaf.parallel_when(|_| true)).unwrap();
    let (inside, scope) = (tools.clone(), agent.context().clone());
    let program = ToolDefinition::raw("program", "A program.", object()).run(move |_, run| {
        let (tools, scope) = (inside.clone(), scope.clone());
        async move {
            // From here on the model can call nothing but programs.
            tools.shared().registry.present(&scope, Mode::Code)?;
            tools
                .with_lane(&run, async |lane| {
                    let call = |n: u32| lane.call("leaf", json!({ "n": n }));
                    let (plain, replaced, wrapped) = tokio::join!(call(1), call(2), call(3));
                    Ok(json!([plain?, replaced?, wrapped?]))
                })
                .await
        }
    });
    tools.register(&app, program).unwrap();
    app.on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            match call.arguments()["n"].as_u64() {
                Some(3) => ToolOutcome::success("wrapped"),
                _ => next.run(call).await,
            }
        })
        .unwrap();
    app.on(POST_EXECUTE)
        .run(async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            match settled.call().arguments()["n"].as_u64() {
                Some(2) => PostDecision::replace_value("replaced"),
                _ => next.run(settled).await,
            }
        })
        .unwrap();

    let call = |name: &str| CallRequest::new("c1", name, "{}").agent(&agent);
    let outcome = tools.execute(&app, call("program")).await;
    assert_eq!(outcome.value(), Some(&json!(["leaf", "replaced", "wrapped"])), "{outcome:?}");
    assert_eq!(*log.lock(), ["1 enter", "2 enter", "1 leave", "2 leave"], "they ran beside each other");
    let direct = tools.execute(&app, call("leaf")).await;
    assert_eq!(direct.code(), Some("UNKNOWN_TOOL"));
    let mode = tools.execution_mode("leaf", &json!({}), Some(agent.scope()));
    assert_eq!(mode, ExecutionMode::Exclusive);
}
