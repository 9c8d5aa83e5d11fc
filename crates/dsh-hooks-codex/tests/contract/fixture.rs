//! An agent in turn 1 whose hooks are programs in a folder of the test.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cordis::Fiber;
use dsh_agent::Agent;
use dsh_agent::testing::MemoryDriver;
use dsh_hooks::testing::{World, hooks, marks, open_turn};
use dsh_hooks_codex::Config;
use dsh_tools::{CallRequest, ToolOutcome};
use dsh_tools_invariants::testing::Watched;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Fixture {
    pub(crate) world: World,
    pub(crate) agent: Agent,
    pub(crate) inbox: Arc<MemoryDriver>,
    pub(crate) folder: TempDir,
    _watched: Watched,
}

impl Fixture {
    /// Without the plugin. There is a tool `mark`, which writes the file `ran`.
    pub(crate) async fn bare() -> Self {
        let (world, folder) = (World::new().await, TempDir::new().unwrap());
        let watched = dsh_tools_invariants::testing::watch(&world.app).await;
        let subprocess = dsh_subprocess_local::Config::default();
        let shell = dsh_shell_local::Config { grace_ms: 200, ..dsh_shell_local::Config::default() };
        world.app.plugin(dsh_subprocess_local::plugin(), subprocess).unwrap().ready().await.unwrap();
        world.app.plugin(dsh_shell_local::plugin(), shell).unwrap().ready().await.unwrap();
        let (agent, inbox) = world.agent("ada", folder.path(), None);
        open_turn(agent.session(), 1);
        world.offer(marks("mark", folder.path().join("ran")));
        Self { world, agent, inbox, folder, _watched: watched }
    }

    /// With these hooks.
    pub(crate) async fn with(hooks: Value) -> Self {
        let fixture = Self::bare().await;
        fixture.mount(&json!({ "hooks": hooks }).to_string(), "").await;
        fixture
    }

    /// With hooks of one point for everything, in this order.
    pub(crate) async fn of(point: &str, commands: &[&str]) -> Self {
        Self::with(hooks(point, commands)).await
    }

    pub(crate) async fn mount(&self, text: &str, model: &str) -> Fiber {
        let file = self.path("hooks.json");
        fs::write(&file, text).unwrap();
        let config = Config { model: model.to_owned(), ..Config::new(file) };
        let fiber = self.world.app.plugin(dsh_hooks_codex::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A call of the tool `mark` by the agent.
    pub(crate) async fn call(&self, arguments: Value) -> ToolOutcome {
        self.world.execute(CallRequest::new("call_1", "mark", arguments).agent(&self.agent)).await
    }
}

/// What was logged keeps to the rules.
impl Drop for Fixture {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            dsh_hooks_invariants::check("ada", self.agent.session().events().iter()).unwrap();
        }
    }
}
