//! An app with tools and agents whose turns a test opens and ends (feature `testing`).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "for tests, which end by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cordis::Handle;
use cordis::log::Recent;
use cordis::testing::TestApp;
use dsh_agent::testing::{MemoryAgents, MemoryDriver, agent};
use dsh_agent::{AGENTS, Agent, PRE_STEP, PreStep, PreStepDecision, TURN_STOPPING, TurnStopping};
use dsh_llm::{ContentBlock, Message};
use dsh_session::{CreateSession, NewEvent, Session, SessionStore, TurnEnd, TurnEndReason, TurnStart};
use dsh_tools::{CallRequest, TOOLS, ToolDefinition, ToolOutcome, ToolRuntime};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::layer::SubscriberExt as _;

/// How long something is waited for: far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// An app with tools, a registry of agents, and what this thread warns of.
pub struct World {
    /// The app.
    pub app: TestApp,
    /// Its tools.
    pub tools: Handle<ToolRuntime>,
    /// Who is live.
    pub agents: Arc<MemoryAgents>,
    store: SessionStore,
    recent: Recent,
    _traced: tracing::subscriber::DefaultGuard,
}

impl World {
    /// Without an agent, and without anything that runs commands.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[allow(clippy::new_without_default, reason = "it is asynchronous")]
    pub async fn new() -> Self {
        let recent = Recent::default();
        let traced = tracing::subscriber::set_default(tracing_subscriber::registry().with(recent.layer()));
        let app = TestApp::new();
        let tools = app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap();
        tools.ready().await.unwrap();
        let agents = Arc::new(MemoryAgents::default());
        app.provide(AGENTS, agents.service()).unwrap();
        let tools = app.get(TOOLS).unwrap();
        Self { app, tools, agents, store: SessionStore::new(), recent, _traced: traced }
    }

    /// A live agent that works in a folder, for another one or for none. Nobody is told of it, and it has no turn.
    ///
    /// # Panics
    /// The id is taken.
    pub fn agent(&self, id: &str, folder: &Path, owner: Option<&Agent>) -> (Agent, Arc<MemoryDriver>) {
        let options = CreateSession {
            id: Some(id.to_owned()),
            cwd: Some(folder.to_string_lossy().into_owned()),
            ..CreateSession::default()
        };
        let session = self.store.create(&self.app, options).unwrap();
        let (agent, inbox) = agent(&self.app, session).unwrap();
        self.agents.add(&agent, owner);
        (agent, inbox)
    }

    /// Offers a tool to everybody.
    ///
    /// # Panics
    /// Its name is taken.
    pub fn offer(&self, tool: ToolDefinition) {
        self.tools.get().unwrap().register(&self.app, tool).unwrap();
    }

    /// Makes a call.
    ///
    /// # Panics
    /// The tools are gone.
    pub async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    /// A step of turn 1 with these messages; those of the decision, or none if it is rejected.
    ///
    /// # Panics
    /// A listener does.
    pub async fn step(
        &self,
        agent: &Agent,
        messages: Vec<Message>,
        cancellation: &CancellationToken,
    ) -> Option<Vec<Arc<Message>>> {
        let mut step = PreStep {
            agent: agent.clone(),
            messages: messages.into_iter().map(Arc::new).collect(),
            turn: 1,
            step: 1,
            cancellation: cancellation.clone(),
        };
        let enter =
            async |(): &(), step: &mut PreStep| PreStepDecision::Enter { messages: step.messages.clone() };
        match self.app.waterfall(PRE_STEP, &mut step, &(), enter).await.unwrap() {
            PreStepDecision::Enter { messages } => Some(messages),
            PreStepDecision::Reject => None,
        }
    }

    /// A turn is about to end.
    ///
    /// # Panics
    /// A listener fails.
    pub async fn stop(&self, agent: &Agent, turn: u64, cancellation: &CancellationToken) {
        let stopping = TurnStopping { agent: agent.clone(), turn, cancellation: cancellation.clone() };
        self.app.serial(TURN_STOPPING, &stopping).await.unwrap();
    }

    /// What was warned of so far, in order.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let warned = self.recent.records().into_iter().filter(|record| record.level == "warn");
        warned.map(|record| record.message).collect()
    }
}

/// Opens a turn.
///
/// # Panics
/// The log does not take it.
pub fn open_turn(session: &Arc<Session>, turn: u64) {
    session.append(NewEvent::new(&TurnStart { turn }).unwrap()).unwrap();
}

/// Ends a turn.
///
/// # Panics
/// The log does not take it.
pub fn end_turn(session: &Arc<Session>, turn: u64) {
    let end = TurnEnd { turn, reason: TurnEndReason::Completed {} };
    session.append(NewEvent::new(&end).unwrap()).unwrap();
}

/// What the log holds of hooks, in order: the type's last word and the data, without how long they took.
///
/// # Panics
/// Something took no time that is a number.
#[must_use]
pub fn records(session: &Session) -> Vec<(String, Value)> {
    let events = session.events();
    let of_hooks = events.iter().filter_map(|event| {
        let kind = event.kind().strip_prefix("hook/")?.to_owned();
        let mut data: Value = serde_json::from_str(event.data().get()).unwrap();
        if kind == "result" {
            let took = data.as_object_mut().unwrap().shift_remove("durationMs").unwrap();
            assert!(took.as_f64().is_some_and(|ms| ms >= 0.0), "{took}");
        }
        Some((kind, data))
    });
    of_hooks.collect()
}

/// What each hook decided, in order, as the log has it.
///
/// # Panics
/// As [`records`].
#[must_use]
pub fn decisions(session: &Session) -> Vec<String> {
    let results = records(session).into_iter().filter(|(kind, _)| kind == "result");
    results.map(|(_, data)| data["decision"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Hooks of one point for everything, in this order.
#[must_use]
pub fn hooks(point: &str, commands: &[&str]) -> Value {
    let entries: Vec<Value> =
        commands.iter().map(|command| json!({ "type": "command", "command": command })).collect();
    json!({ point: [{ "hooks": entries }] })
}

/// A command that answers this.
#[must_use]
pub fn answers(answer: &Value) -> String {
    format!("cat > /dev/null; printf %s '{answer}'")
}

/// A command whose own part of the answer is this.
///
/// # Panics
/// It is no object.
#[must_use]
pub fn says(point: &str, mut own: Value) -> String {
    own["hookEventName"] = json!(point);
    answers(&json!({ "hookSpecificOutput": own }))
}

/// A tool that writes a file and gives its arguments.
///
/// # Panics
/// Its body, if the file cannot be written.
#[must_use]
pub fn marks(name: &'static str, file: PathBuf) -> ToolDefinition {
    ToolDefinition::raw(name, "Writes a file.", json!({ "type": "object" })).run(move |arguments, _run| {
        let file = file.clone();
        async move {
            fs::write(file, arguments.to_string()).unwrap();
            Ok(json!(arguments.to_string()))
        }
    })
}

/// What a user says.
#[must_use]
pub fn user(text: &str) -> Message {
    Message::user(vec![ContentBlock::text(text)])
}

/// The texts of a message's blocks.
///
/// # Panics
/// One has no text.
#[must_use]
pub fn blocks(message: &Message) -> Vec<String> {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.clone(),
        other => panic!("no text: {other:?}"),
    };
    message.content.iter().map(text).collect()
}

/// Waits until something is the case.
///
/// # Panics
/// It never is.
pub async fn until(what: &str, is: impl Fn() -> bool) {
    let waiting = async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// As [`until`], in a test that has paused the clock: it stands still, so no time limit passes before a program has done
/// something.
///
/// # Panics
/// It never is.
pub async fn until_standing_still(what: &'static str, is: impl Fn() -> bool + Send + 'static) {
    // The clock does not go on by itself while somebody blocks.
    let waiting = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        while !is() {
            assert!(began.elapsed() < PATIENCE, "never: {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    waiting.await.unwrap();
}

/// Whether a process is there.
#[must_use]
pub fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    state.is_some_and(|state| state != 'Z')
}
