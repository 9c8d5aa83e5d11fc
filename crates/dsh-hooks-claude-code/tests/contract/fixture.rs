//! An agent in turn 1 whose hooks are programs in a folder of the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cordis::{Fiber, Next};
use dsh_agent::Agent;
use dsh_agent::testing::MemoryDriver;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use dsh_hooks::testing::{World, marks, open_turn};
pub(crate) use dsh_hooks::testing::{answers, blocks, hooks, is_alive, says, until, user};
use dsh_hooks_claude_code::Config;
use dsh_llm::{Message, Source};
use dsh_tools::{CallRequest, ToolOutcome};
use dsh_tools_invariants::testing::Watched;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Fixture {
    pub(crate) world: World,
    pub(crate) agent: Agent,
    pub(crate) inbox: Arc<MemoryDriver>,
    folder: TempDir,
    _watched: Watched,
}

impl Fixture {
    /// Without the plugin: what a test registers now is outside of it.
    pub(crate) async fn bare() -> Self {
        Self::bare_with_grace(Duration::from_millis(200)).await
    }

    /// As [`bare`](Self::bare), with so much time for what hooks do when they are told to end.
    pub(crate) async fn bare_with_grace(grace: Duration) -> Self {
        let (world, folder) = (World::new().await, TempDir::new().unwrap());
        let watched = dsh_tools_invariants::testing::watch(&world.app).await;
        let subprocess = dsh_subprocess_local::Config::default();
        let grace_ms = grace.as_millis().try_into().unwrap();
        let shell = dsh_shell_local::Config { grace_ms, ..dsh_shell_local::Config::default() };
        world.app.plugin(dsh_subprocess_local::plugin(), subprocess).unwrap().ready().await.unwrap();
        world.app.plugin(dsh_shell_local::plugin(), shell).unwrap().ready().await.unwrap();
        let (agent, inbox) = world.agent("ada", folder.path(), None);
        open_turn(agent.session(), 1);
        let fixture = Self { world, agent, inbox, folder, _watched: watched };
        fixture.offer("mark");
        fixture
    }

    /// With these hooks.
    pub(crate) async fn with(hooks: Value) -> Self {
        let fixture = Self::bare().await;
        fixture.mount(hooks).await;
        fixture
    }

    /// With hooks of one point for everything, in this order.
    pub(crate) async fn of(point: &str, commands: &[&str]) -> Self {
        Self::with(hooks(point, commands)).await
    }

    pub(crate) async fn mount(&self, hooks: Value) -> Fiber {
        self.mount_as(hooks, |config| config).await
    }

    pub(crate) async fn mount_as(&self, hooks: Value, more: impl FnOnce(Config) -> Config) -> Fiber {
        self.mount_text(&json!({ "hooks": hooks }).to_string(), more).await
    }

    pub(crate) async fn mount_text(&self, text: &str, more: impl FnOnce(Config) -> Config) -> Fiber {
        let file = self.path("settings.json");
        fs::write(&file, text).unwrap();
        self.mount_file(more(Config::new(file))).await
    }

    pub(crate) async fn mount_file(&self, config: Config) -> Fiber {
        let fiber = self.world.app.plugin(dsh_hooks_claude_code::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
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

    /// What hooks read that append it to a file, one after another.
    pub(crate) fn told(&self, name: &str) -> Vec<Value> {
        self.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Has every question answered like this.
    pub(crate) async fn answer_questions(&self, outcome: ApprovalOutcome) {
        let approvals = dsh_approval::plugin();
        self.world.app.plugin(approvals, dsh_approval::Config::default()).unwrap().ready().await.unwrap();
        let answer = async |outcome: &ApprovalOutcome,
                            _: &mut ApprovalRequest,
                            _: Next<'_, ApprovalRequest, ApprovalOutcome>| *outcome;
        self.world.app.on(REQUEST).with(outcome).run(answer).unwrap();
    }

    /// Offers a tool that writes the file `ran-NAME` and gives its arguments.
    pub(crate) fn offer(&self, name: &'static str) {
        self.world.offer(marks(name, self.path(&format!("ran-{name}"))));
    }

    /// A call of the tool `mark` by the agent.
    pub(crate) async fn call(&self, arguments: Value) -> ToolOutcome {
        self.world.execute(self.request("mark", arguments)).await
    }

    pub(crate) fn request(&self, name: &str, arguments: Value) -> CallRequest {
        CallRequest::new("call_1", name, arguments).agent(&self.agent)
    }

    /// A step of turn 1 with these messages; those of the decision, or none if it is rejected.
    pub(crate) async fn step(&self, messages: Vec<Message>) -> Option<Vec<Arc<Message>>> {
        self.step_until(messages, &CancellationToken::new()).await
    }

    pub(crate) async fn step_until(
        &self,
        messages: Vec<Message>,
        cancellation: &CancellationToken,
    ) -> Option<Vec<Arc<Message>>> {
        self.world.step(&self.agent, messages, cancellation).await
    }

    /// The turn is about to end; what was said to the agent then.
    pub(crate) async fn stop(&self, turn: u64) -> Vec<Arc<Message>> {
        self.stop_until(turn, &CancellationToken::new()).await
    }

    pub(crate) async fn stop_until(&self, turn: u64, cancellation: &CancellationToken) -> Vec<Arc<Message>> {
        self.world.stop(&self.agent, turn, cancellation).await;
        self.inbox.take().into_iter().map(|sent| sent.message).collect()
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

/// The source of what the hooks say.
pub(crate) fn of_hooks() -> Source {
    Source::Plugin { plugin: "hooks-claude-code".to_owned(), form: None, sections: None, summary: None }
}
