//! An app with the tools service, an agent whose session is in a store, and tools that say what they do.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use cordis::{App, Handle, Next, Scope};
use dsh_agent::testing::{FnDriver, MemoryDriver, Sent, parts};
use dsh_agent::{Agent, Driver as _, Target, Wakeup};
use dsh_llm::{ContentBlock, FinishReason, Message};
use dsh_session::{
    CreateSession, Event, EventData, NewEvent, SESSIONS, Session, StepEnd, StepStart, TurnEnd, TurnEndReason,
    TurnStart,
};
use dsh_tools::{
    Batch, BatchError, CallRequest, CodeDispatch, CodeDispatchStart, Config, Lane, ModelCall, PRE_EXECUTE,
    PreDecision, RESULT, TOOLS, ToolCall, ToolDefinition, ToolError, ToolOutcome, ToolRun, ToolRuntime,
};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    pub(crate) fn say(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    /// The place of what was said, which must have been said once.
    pub(crate) fn place(&self, what: &str) -> usize {
        let all = self.all();
        let places: Vec<usize> = (0..all.len()).filter(|place| all[*place] == what).collect();
        assert_eq!(places.len(), 1, "{what} in {all:#?}");
        places[0]
    }
}

/// How many events a log holds when a test begins: of two turns that are over, a step that is over, and an open one.
const BEGUN: usize = 8;

pub(crate) struct World {
    pub(crate) app: App,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) session: Arc<Session>,
    pub(crate) agent: Agent,
    pub(crate) inbox: Arc<MemoryDriver>,
    pub(crate) told: Told,
    pub(crate) cancellation: CancellationToken,
    _watched: Watched,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Config { max_parallel_sub_calls: 2, body_grace_ms: 1_000, ..Config::default() }).await
    }

    pub(crate) async fn with(config: Config) -> Self {
        let app = App::new().unwrap();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_tools::plugin(), config).unwrap().ready().await.unwrap();
        let watched = dsh_tools_invariants::testing::watch(&app).await;
        let tools = app.get(TOOLS).unwrap();
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        let sessions = app.get(SESSIONS).unwrap();
        let session = sessions.get().unwrap().create(&app, CreateSession::default()).unwrap();
        begin(&session);
        let (inbox, told) = (Arc::new(MemoryDriver::default()), Told::default());
        let (kept, tell) = (inbox.clone(), told.clone());
        // Says what comes in, and after which event.
        let telling = move |agent: &Agent, message: Arc<Message>, target: Target, wakeup: Wakeup| {
            let last =
                agent.session().events().last().map(|event| event.kind().to_owned()).unwrap_or_default();
            tell.say(format!("context {} after {last}", message.text()));
            kept.send(agent, message, target, wakeup)
        };
        let agent = Agent::new(parts(session.clone(), app.scope().unwrap(), Arc::new(FnDriver(telling))));
        let cancellation = CancellationToken::new();
        Self { app, tools, session, agent, inbox, told, cancellation, _watched: watched }
    }

    /// An agent with a session and a scope of its own.
    pub(crate) fn another_agent(&self, scope: Scope) -> Agent {
        Agent::new(parts(Session::detached("another"), scope, Arc::new(MemoryDriver::default())))
    }

    pub(crate) fn offer(&self, tool: ToolDefinition) {
        self.tools.get().unwrap().register(&self.app, tool).unwrap();
    }

    /// A tool that says when its body begins and ends, takes the milliseconds of its argument `ms`, and gives its name.
    pub(crate) fn timed(&self, name: &'static str, parallel: bool) {
        self.offer(self.timed_when(name, move |_| parallel));
    }

    pub(crate) fn timed_when(
        &self,
        name: &'static str,
        parallel: impl Fn(&Value) -> bool + Send + Sync + 'static,
    ) -> ToolDefinition {
        let told = self.told.clone();
        raw(name)
            .run(move |arguments, run| {
                let told = told.clone();
                async move {
                    told.say(format!("{} enter", run.call_id()));
                    tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(1))).await;
                    told.say(format!("{} leave", run.call_id()));
                    Ok(json!(name))
                }
            })
            .parallel_when(parallel)
    }

    /// A tool that waits for its cancellation and succeeds all the same.
    pub(crate) fn patient(&self, name: &'static str, parallel: bool) {
        let told = self.told.clone();
        let body = move |_, run: ToolRun| {
            let told = told.clone();
            async move {
                told.say(format!("{} enter", run.call_id()));
                run.defer_context(text_of_user("kept"));
                run.cancellation().cancelled().await;
                told.say(format!("{} leave", run.call_id()));
                Ok(json!("late"))
            }
        };
        self.offer(raw(name).run(body).parallel_when(move |_| parallel));
    }

    /// A tool whose body is a program with a lane.
    pub(crate) fn program<F, P>(&self, name: &'static str, program: F)
    where
        F: Fn(Lane, Arc<Value>) -> P + Send + Sync + 'static,
        P: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        let (tools, program) = (self.tools.clone(), Arc::new(program));
        self.offer(raw(name).run(move |arguments, run| {
            let (tools, program) = (tools.clone(), program.clone());
            async move {
                let tools = tools.get()?;
                tools.with_lane(&run, |lane| program(lane, arguments)).await
            }
        }));
    }

    /// Says when policies are asked and have answered, and when results are told.
    pub(crate) fn watch(&self) {
        let told = self.told.clone();
        self.app
            .on(PRE_EXECUTE)
            .with(told.clone())
            .run(async |told: &Told, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
                let id = call.id().to_owned();
                told.say(format!("{id} policy"));
                tokio::task::yield_now().await;
                let decision = next.run(call).await;
                told.say(format!("{id} judged"));
                decision
            })
            .unwrap();
        self.app.on(RESULT).run(move |settled| told.say(format!("{} result", settled.call().id()))).unwrap();
    }

    /// Refuses all calls of a tool.
    pub(crate) fn deny(&self, tool: &'static str) {
        let guard = move |call: &ToolCall| (call.name() == tool).then(|| format!("{tool} is not for you"));
        self.tools.get().unwrap().guard(&self.app, guard).unwrap();
    }

    /// A batch of these ids, names and arguments, of which two may run at once.
    pub(crate) fn batch(&self, calls: &[(&str, &str, &str)]) -> Batch {
        Batch {
            agent: self.agent.clone(),
            turn: 3,
            step: 2,
            calls: calls.iter().map(|(id, name, arguments)| ModelCall::new(*id, *name, *arguments)).collect(),
            finish: FinishReason::ToolCalls {},
            max_parallel: NonZeroUsize::new(2).unwrap(),
            cancellation: self.cancellation.clone(),
        }
    }

    pub(crate) async fn run(&self, batch: Batch) -> Result<Vec<ToolOutcome>, BatchError> {
        self.tools.get().unwrap().execute_batch(&self.app, batch).await
    }

    /// Executes a call `c1` of the agent.
    pub(crate) async fn call(&self, name: &str) -> ToolOutcome {
        let request = CallRequest::new("c1", name, "{}").agent(&self.agent).cancellation(&self.cancellation);
        self.execute(request).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    pub(crate) fn cancel_after(&self, ms: u64) {
        let cancellation = self.cancellation.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            cancellation.cancel();
        });
    }

    pub(crate) fn log(&self) -> Vec<String> {
        log_of(&self.session)
    }

    /// The number in the log of the event that [`event`](Self::event) gives.
    pub(crate) fn seq(&self, number: usize) -> u64 {
        self.event(number).seq()
    }

    /// The event of this number, counted from what the test itself has logged.
    pub(crate) fn event(&self, number: usize) -> Arc<Event> {
        self.session.events().get(BEGUN + number).unwrap()
    }

    pub(crate) fn contexts(&self) -> Vec<String> {
        let sent = self.inbox.sent();
        let next_step = |sent: &Sent| (sent.target, sent.wakeup) == (Target::NextStep, Wakeup::Wait);
        assert!(sent.iter().all(next_step), "{sent:?}");
        sent.iter().map(|sent| sent.message.text()).collect()
    }
}

/// Opens step 2 of turn 3, of which batches are.
fn begin(session: &Arc<Session>) {
    let log = |event: NewEvent| session.append(event).unwrap();
    for turn in [1, 2] {
        log(NewEvent::new(&TurnStart { turn }).unwrap());
        log(NewEvent::new(&TurnEnd { turn, reason: TurnEndReason::Completed {} }).unwrap());
    }
    log(NewEvent::new(&TurnStart { turn: 3 }).unwrap());
    log(NewEvent::new(&StepStart { turn: 3, step: 1 }).unwrap());
    log(NewEvent::new(&StepEnd { turn: 3, step: 1 }).unwrap());
    log(NewEvent::new(&StepStart { turn: 3, step: 2 }).unwrap());
    assert_eq!(session.events().len(), BEGUN);
}

/// What a test has logged, in short.
pub(crate) fn log_of(session: &Session) -> Vec<String> {
    let short = |event: &Event| {
        if let Some(start) = event.payload::<CodeDispatchStart>().unwrap() {
            return format!("start {}", start.sub_call_id);
        }
        if let Some(end) = event.payload::<CodeDispatch>().unwrap() {
            return format!("end {}: {}{}", end.sub_call_id, text(&end.content), failed(end.is_error));
        }
        match event.read().unwrap() {
            EventData::ToolCall(call) => format!("call {}", call.call_id),
            EventData::ToolResult(result) => {
                format!(
                    "result {}: {}{}",
                    result.call_id(),
                    text(result.content()),
                    failed(result.is_error())
                )
            }
            _ => event.kind().to_owned(),
        }
    };
    session.events().from(BEGUN).map(|event| short(&event)).collect()
}

fn failed(is_error: bool) -> &'static str {
    if is_error { " (failed)" } else { "" }
}

pub(crate) fn text(content: &[ContentBlock]) -> String {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.clone(),
        other => serde_json::to_value(other).unwrap()["type"].as_str().unwrap().to_owned(),
    };
    content.iter().map(text).collect::<Vec<_>>().join("|")
}

pub(crate) fn texts(outcomes: &[ToolOutcome]) -> Vec<String> {
    outcomes.iter().map(ToolOutcome::text).collect()
}

pub(crate) fn raw(name: &'static str) -> dsh_tools::RawTool {
    ToolDefinition::raw(name, "Does what the test wants.", json!({ "type": "object" }))
}

pub(crate) fn text_of_user(text: &str) -> Message {
    Message::user(vec![ContentBlock::text(text)])
}
