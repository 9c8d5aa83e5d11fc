//! One run: three steps with tools, on one thread, where everything that can wait does.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

use cordis::testing::TestApp;
use cordis::{BoxError, Context, Fiber, Next};
use dsh_agent::{
    AGENTS, Agent, AgentHandle, AgentOptions, AgentRequest, CreateAgent, InboxError, PRE_STEP, PreStep,
    PreStepDecision, REQUEST, Requested, TURN_STOPPING, TurnStopping,
};
use dsh_llm::testing::{Answer, ScriptedModel, finish};
use dsh_llm::{
    ContentBlock, FinishReason, LLM, Message, ModelCall, ModelRequest, Outcome, Role, STREAM, StreamChunk,
};
use dsh_prompt::{ASSEMBLE, Assembling, PromptAssembly};
use dsh_session::{CancelCause, EVENT, SESSIONS, SessionEvent, closers};
use dsh_tools::{EXECUTE, PRE_EXECUTE, PreDecision, TOOLS, ToolCall, ToolDefinition, ToolOutcome, ToolRun};
use parking_lot::Mutex;
use serde_json::json;

/// What is done to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Cancel,
    Interrupt,
    Steer,
    CancelThenFollowup,
    Dispose,
    Unload,
}

/// When.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// After so many rounds of the scheduler.
    Round(usize),
    /// Inside of the announcement of the event of this number.
    Event(usize),
}

/// How long a run is that nobody interrupts.
pub(crate) struct Length {
    pub(crate) rounds: usize,
    pub(crate) events: usize,
}

struct World {
    app: TestApp,
    model: ScriptedModel,
    agent_loop: Fiber,
    agent: AgentHandle,
    /// How many bodies of tools run.
    running: Arc<AtomicUsize>,
}

/// Everything waits before it goes on.
async fn wait() {
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
}

fn calls(ids: &[&str]) -> Answer {
    let mut pieces = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        let index = index as u64;
        let (id, name) = ((*id).to_owned(), if index == 1 { "alone" } else { "beside" }.to_owned());
        pieces.push(StreamChunk::BlockStart { index, block_type: "tool-call".into() });
        let block = ContentBlock::ToolCall { id, name, arguments: "{}".into() };
        pieces.push(StreamChunk::BlockEnd { index, block });
    }
    Answer::new().chunks(pieces).chunks([finish(FinishReason::ToolCalls {})])
}

fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user(vec![ContentBlock::text(text)]))
}

impl World {
    async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_agent::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_prompt::plugin(), dsh_prompt::Config::default()).unwrap().ready().await.unwrap();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let model = ScriptedModel::new([calls(&["c1", "c2", "c3"]), calls(&["c4"]), Answer::text("done")]);
        let _ = app.get(LLM).unwrap().get().unwrap().register(&app, ["scripted"], model.adapter()).unwrap();
        slow(&app);
        let running = Arc::new(AtomicUsize::new(0));
        let tools = app.get(TOOLS).unwrap();
        for (name, parallel) in [("beside", true), ("alone", false)] {
            let count = running.clone();
            let body = move |_, run: ToolRun| {
                let running = Running::new(&count);
                async move {
                    let _running = running;
                    wait().await;
                    if run.cancellation().is_cancelled() {
                        run.defer_context(Message::clone(&said("context")));
                    }
                    wait().await;
                    Ok(json!("result"))
                }
            };
            let tool = ToolDefinition::raw(name, "a tool", json!({ "type": "object" })).run(body);
            tools.get().unwrap().register(&app, tool.parallel_when(move |_| parallel)).unwrap();
        }
        let agent_loop = app.plugin(dsh_agent_loop::plugin(), dsh_agent_loop::Config::default()).unwrap();
        agent_loop.ready().await.unwrap();
        let agents = app.get(AGENTS).unwrap().get().unwrap().clone();
        let options = AgentOptions {
            provider: Some("scripted".into()),
            model: Some("m".into()),
            ..AgentOptions::default()
        };
        let agent = agents.create(&app, CreateAgent::new("a").options(options)).await.unwrap();
        app.quiet().await;
        Self { app, model, agent_loop, agent, running }
    }

    /// Does it; what takes time goes on by itself.
    fn act(&self, act: Act) {
        match act {
            Act::Cancel => told(self.agent.cancel(CancelCause::User {})),
            Act::Interrupt => told(self.agent.interrupt(CancelCause::User {})),
            Act::Steer => told(self.agent.steer(said("steered"))),
            Act::CancelThenFollowup => {
                told(self.agent.cancel(CancelCause::User {}));
                told(self.agent.followup(said("once more")));
            }
            Act::Dispose => self.ends(),
            Act::Unload => self.agent_loop.cancel(),
        }
    }

    fn ends(&self) {
        // The effect is what whoever asked for the agent holds.
        let mut disposing = Box::pin(self.agent.dispose());
        let waker = std::task::Waker::noop();
        let _ = disposing.as_mut().poll(&mut std::task::Context::from_waker(waker));
    }

    /// That all is as it must be, whatever was done.
    async fn check(&self, what: &str) {
        self.agent.when_idle().await;
        self.app.quiet().await;
        let session = self.agent.session();
        assert_eq!(self.running.load(SeqCst), 0, "{what}: a body runs on");
        assert!(closers(&session.events()).is_empty(), "{what}: the log is open: {:?}", kinds(&self.agent));
        for request in self.model.requests() {
            valid(&request, what);
        }
        if self.agent.scope().is_closed() {
            return;
        }
        // And the agent works.
        for _ in 0..4 {
            self.model.push(Answer::text("fine"));
        }
        self.agent.followup(said("are you there?")).unwrap();
        self.agent.when_idle().await;
        let asked = self.model.requests().pop();
        let request = asked.unwrap_or_else(|| panic!("{what}: nothing was asked: {:?}", kinds(&self.agent)));
        valid(&request, what);
        let last = session.messages().last().unwrap().text();
        assert!(["fine", "done"].contains(&last.as_str()), "{what}: {last}");
        dsh_session_invariants_hold(&self.agent, what);
    }
}

/// An agent that has ended, or a log that is being appended to, takes nothing.
fn told(sent: Result<(), InboxError>) {
    assert!(matches!(sent, Ok(()) | Err(InboxError::Ended { .. } | InboxError::Append { .. })), "{sent:?}");
}

struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Has everything that listeners can make wait do so.
fn slow(app: &Context) {
    app.on(ASSEMBLE)
        .run(
            async |assembling: &mut Assembling,
                   next: Next<'_, Assembling, Result<PromptAssembly, BoxError>>| {
                wait().await;
                let assembled = next.run(assembling).await;
                wait().await;
                assembled
            },
        )
        .unwrap();
    app.on(PRE_STEP)
        .run(async |step: &mut PreStep, next: Next<'_, PreStep, PreStepDecision>| {
            wait().await;
            let decision = next.run(step).await;
            wait().await;
            decision
        })
        .unwrap();
    app.on(REQUEST)
        .run(async |request: &mut AgentRequest, next: Next<'_, AgentRequest, Requested>| {
            wait().await;
            next.run(request).await
        })
        .unwrap();
    app.on(STREAM)
        .run(async |call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
            wait().await;
            let mut out = call.out.clone();
            let mut below = call.below(next);
            while let Some(chunk) = below.next().await {
                wait().await;
                out.send(chunk).await;
            }
            wait().await;
            below.outcome()
        })
        .unwrap();
    app.on(PRE_EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            wait().await;
            next.run(call).await
        })
        .unwrap();
    app.on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            wait().await;
            let outcome = next.run(call).await;
            wait().await;
            outcome
        })
        .unwrap();
    app.on(TURN_STOPPING)
        .run(async |_: &TurnStopping| {
            wait().await;
            Ok(None)
        })
        .unwrap();
}

fn kinds(agent: &Agent) -> Vec<String> {
    let events = agent.session().events();
    events.iter().map(|event| event.kind().to_owned()).filter(|kind| kind != "assistant/chunk").collect()
}

/// A provider takes it: each call has exactly one result, right behind the calls.
fn valid(request: &ModelRequest, what: &str) {
    let messages = &request.messages;
    let mut place = 0;
    while place < messages.len() {
        let message = &messages[place];
        place += 1;
        let calls: Vec<&str> = message
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            })
            .collect();
        let results: Vec<&str> = messages[place..].iter().map_while(|message| answers(message)).collect();
        if message.role == Role::Assistant {
            assert_eq!(calls, results, "{what}: {messages:#?}");
            place += results.len();
        } else {
            assert!(answers(message).is_none(), "{what}: a result without its call: {messages:#?}");
        }
    }
    assert_eq!(messages.first().map(|message| message.role), Some(Role::User), "{what}");
}

/// The call that a message answers.
fn answers(message: &Message) -> Option<&str> {
    match &message.content[..] {
        [ContentBlock::ToolResult { tool_call_id, .. }] => Some(tool_call_id),
        _ => None,
    }
}

fn dsh_session_invariants_hold(agent: &Agent, what: &str) {
    let again = dsh_session::Session::new(
        dsh_session::SessionHeader::new("again", 0),
        Some(dsh_session::Seed::from(agent.session().events())),
    );
    assert!(again.is_ok(), "{what}: {again:?}");
}

fn on_one_thread<R>(work: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(work)
}

/// A run that nobody interrupts.
pub(crate) fn quiet_run() -> Length {
    on_one_thread(async {
        let world = World::new().await;
        let events = Arc::new(AtomicUsize::new(0));
        let count = events.clone();
        world
            .app
            .on(EVENT)
            .run(move |_| {
                count.fetch_add(1, SeqCst);
            })
            .unwrap();
        world.agent.followup(said("go")).unwrap();
        let rounds = rounds_until_idle(&world).await;
        let events = events.load(SeqCst);
        assert_eq!(world.model.requests().len(), 3);
        world.check("nothing was done").await;
        assert!(world.app.get(SESSIONS).is_some());
        Length { rounds, events }
    })
}

async fn rounds_until_idle(world: &World) -> usize {
    let mut idle = pin!(world.agent.when_idle());
    for round in 0.. {
        let is_idle = std::future::poll_fn(|cx| Poll::Ready(idle.as_mut().poll(cx).is_ready())).await;
        if is_idle {
            return round;
        }
        tokio::task::yield_now().await;
    }
    0
}

/// A run with interruptions, each at its point.
pub(crate) fn interrupted(acts: &[(Point, Act)]) {
    on_one_thread(async {
        let world = Arc::new(World::new().await);
        let what = format!("{acts:?}");
        let at_events: Mutex<Vec<(usize, Act)>> = Mutex::default();
        let mut at_rounds = Vec::new();
        for (point, act) in acts {
            match point {
                Point::Event(event) => at_events.lock().push((*event, *act)),
                Point::Round(round) => at_rounds.push((*round, *act)),
            }
        }
        let (weak, count) = (Arc::downgrade(&world), AtomicUsize::new(0));
        world
            .app
            .on(EVENT)
            .run(move |_: &SessionEvent| {
                let number = count.fetch_add(1, SeqCst);
                let due: Vec<Act> = {
                    let at_events = at_events.lock();
                    at_events.iter().filter(|(event, _)| *event == number).map(|(_, act)| *act).collect()
                };
                for act in due {
                    weak.upgrade().unwrap().act(act);
                }
            })
            .unwrap();
        world.agent.followup(said("go")).unwrap();
        at_rounds.sort_by_key(|(round, _)| *round);
        let mut now = 0;
        for (round, act) in at_rounds {
            while now < round {
                tokio::task::yield_now().await;
                now += 1;
            }
            world.act(act);
        }
        // What was asked to end ends; whoever asked did not wait for it.
        for (_, act) in acts {
            match act {
                Act::Dispose => drop(world.agent.dispose().await),
                Act::Unload => drop(world.agent_loop.dispose().await),
                _ => {}
            }
        }
        world.check(&what).await;
        world.app.shutdown().await;
    });
}
