//! The contract of the crate.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, BoxFuture, Effect, Scope, State};
use dsh_tool_presentation::Config;
use dsh_tools::{CODE_RUNTIME, CodeOutcome, CodeRequest, CodeRuntime, Mode, TOOLS};
use dsh_tools_invariants::testing::Watched;
use serde_json::json;

/// Runs nothing.
struct Idle;

impl CodeRuntime for Idle {
    fn language(&self) -> &str {
        "typescript"
    }

    fn isolation(&self) -> &str {
        "none"
    }

    fn run(&self, _: CodeRequest) -> BoxFuture<'static, Result<CodeOutcome, BoxError>> {
        Box::pin(async { Ok(CodeOutcome::completed(Vec::new(), None)) })
    }
}

struct Fixture {
    app: TestApp,
    agent: Scope,
    _watched: Watched,
}

impl Fixture {
    /// An agent in a deployment of this mode.
    async fn new(mode: Mode) -> Self {
        let app = TestApp::new();
        let config = dsh_tools::Config { mode, ..dsh_tools::Config::default() };
        app.plugin(dsh_tools::plugin(), config).unwrap().ready().await.unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let agent = app.scope().unwrap();
        Self { app, agent, _watched }
    }

    fn runtime(&self) -> Effect {
        let runtime: Arc<dyn CodeRuntime> = Arc::new(Idle);
        self.app.provide(CODE_RUNTIME, runtime).unwrap()
    }

    /// The modes of the agent and of everybody else, once all is quiet.
    async fn modes(&self) -> (Mode, Mode) {
        self.app.quiet().await;
        let tools = self.app.get(TOOLS).unwrap();
        let tools = tools.get().unwrap();
        (tools.mode(Some(&self.agent)), tools.mode(None))
    }
}

// spec: tools/T32
#[tokio::test]
async fn native_is_presented_at_once_and_taken_back_with_the_plugin() {
    let fixture = Fixture::new(Mode::Code).await;
    let plugin =
        fixture.agent.context().plugin(dsh_tool_presentation::plugin(), Config { mode: Mode::Native });
    let plugin = plugin.unwrap();
    assert_eq!(plugin.ready().await.unwrap(), State::Active);
    assert_eq!(fixture.modes().await, (Mode::Native, Mode::Code));
    assert!(plugin.dispose().await.is_clean());
    assert_eq!(fixture.modes().await, (Mode::Code, Mode::Code));
    fixture.app.assert_no_errors();
}

// spec: tools/T32, code-mode/C86
#[tokio::test]
async fn modes_that_need_programs_are_presented_while_something_runs_them() {
    for mode in [Mode::Code, Mode::Both] {
        let fixture = Fixture::new(Mode::Native).await;
        let plugin =
            fixture.agent.context().plugin(dsh_tool_presentation::plugin(), Config { mode }).unwrap();
        plugin.ready().await.unwrap();
        assert_eq!(fixture.modes().await, (Mode::Native, Mode::Native));
        for _ in 0..2 {
            let runtime = fixture.runtime();
            assert_eq!(fixture.modes().await, (mode, Mode::Native));
            runtime.dispose().await;
            assert_eq!(fixture.modes().await, (Mode::Native, Mode::Native));
        }
        let _runtime = fixture.runtime();
        assert_eq!(fixture.modes().await, (mode, Mode::Native));
        assert!(plugin.dispose().await.is_clean());
        assert_eq!(fixture.modes().await, (Mode::Native, Mode::Native));
        fixture.app.assert_no_errors();
    }
}

// spec: tools/T32
#[test]
fn the_mode_must_be_given() {
    let config = |value| serde_json::from_value::<Config>(value);
    assert_eq!(config(json!({ "mode": "both" })).unwrap(), Config { mode: Mode::Both });
    assert!(config(json!({})).unwrap_err().to_string().contains("mode"));
    assert!(config(json!({ "mode": "code", "more": 1 })).is_err());
}

// spec: tools/T28
#[tokio::test]
async fn outside_of_a_scope_the_plugin_fails_and_says_why() {
    let fixture = Fixture::new(Mode::Native).await;
    let plugin = fixture.app.plugin(dsh_tool_presentation::plugin(), Config { mode: Mode::Native }).unwrap();
    let failed = plugin.ready().await.unwrap_err();
    assert!(format!("{failed:?}").contains("context of one agent"), "{failed:?}");
}
