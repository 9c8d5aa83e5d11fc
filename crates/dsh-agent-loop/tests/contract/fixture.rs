//! A host with a loop, a model that answers from a list, and tools.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Context, Fiber, Handle};
use dsh_agent::{
    AGENTS, Agent, AgentFailure, AgentHandle, AgentOptions, Agents, CREATED, CreateAgent, DISPOSED, ERROR,
    INBOX_CLAIMED, INBOX_DISCARDED, INBOX_INSERTED, InboxClaim, SESSION_START, STATUS,
};
use dsh_agent_loop::Config;
use dsh_llm::testing::{Answer, ScriptedModel, finish};
use dsh_llm::{ContentBlock, FinishReason, LLM, Message, ModelRequest, StreamChunk};
use dsh_session::{EVENT, Session, SessionEvent, TurnEnd, TurnEndReason};
use dsh_tools::{RawTool, TOOLS, ToolDefinition, ToolRun, ToolRuntime};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The model that agents of a fixture ask.
pub(crate) const PROVIDER: &str = "scripted";
pub(crate) const MODEL: &str = "m";

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) model: ScriptedModel,
    pub(crate) agent_loop: Fiber,
    _watched: (
        dsh_tools_invariants::testing::Watched,
        dsh_llm_invariants::testing::Watched,
        dsh_agent_loop_invariants::testing::Watched,
    ),
}

impl Fixture {
    pub(crate) async fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with(Config::default(), answers).await
    }

    pub(crate) async fn with(config: Config, answers: impl IntoIterator<Item = Answer>) -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_agent::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_prompt::plugin(), dsh_prompt::Config::default()).unwrap().ready().await.unwrap();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let watched = (
            dsh_tools_invariants::testing::watch(&app).await,
            dsh_llm_invariants::testing::watch(&app).await,
            dsh_agent_loop_invariants::testing::watch(&app).await,
        );
        let model = ScriptedModel::new(answers);
        let llm = app.get(LLM).unwrap();
        let _ = llm.get().unwrap().register(&app, [PROVIDER], model.adapter()).unwrap();
        let agent_loop = app.plugin(dsh_agent_loop::plugin(), config).unwrap();
        agent_loop.ready().await.unwrap();
        Self { app, model, agent_loop, _watched: watched }
    }

    pub(crate) fn agents(&self) -> Agents {
        self.app.get(AGENTS).unwrap().get().unwrap().clone()
    }

    pub(crate) async fn agent(&self, id: &str) -> AgentHandle {
        self.agents().create(&self.app, CreateAgent::new(id).options(options())).await.unwrap()
    }

    pub(crate) fn tools(&self) -> Handle<ToolRuntime> {
        self.app.get(TOOLS).unwrap()
    }

    /// Offers a tool, for all or for one agent.
    pub(crate) fn offer(&self, ctx: &Context, tool: impl Into<ToolDefinition>) {
        self.tools().get().unwrap().register(ctx, tool).unwrap();
    }

    /// A tool that gives back its argument `text`, and may run beside others.
    pub(crate) fn echo(&self, ctx: &Context, name: &'static str) {
        let body = async |arguments: Arc<Value>, _: ToolRun| Ok(arguments["text"].clone());
        self.offer(ctx, raw(name).run(body).parallel());
    }

    /// What the model was asked.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.model.requests()
    }
}

/// A tool that takes anything.
pub(crate) fn raw(name: &'static str) -> RawTool {
    ToolDefinition::raw(name, "a tool of a test", json!({ "type": "object" }))
}

pub(crate) fn options() -> AgentOptions {
    AgentOptions { provider: Some(PROVIDER.into()), model: Some(MODEL.into()), ..AgentOptions::default() }
}

pub(crate) fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user(vec![ContentBlock::text(text)]))
}

/// The types of a session's events, pieces of answers left out.
pub(crate) fn kinds(session: &Session) -> Vec<String> {
    let events = session.events();
    let kinds = events.iter().map(|event| event.kind().to_owned());
    kinds.filter(|kind| kind != "assistant/chunk").collect()
}

/// An answer that calls tools: id, name, arguments.
pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Answer {
    let mut pieces = Vec::new();
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let (index, arguments) = (index as u64, arguments.to_string());
        let block = ContentBlock::ToolCall { id: (*id).to_owned(), name: (*name).to_owned(), arguments };
        pieces.push(StreamChunk::BlockStart { index, block_type: "tool-call".to_owned() });
        pieces.push(StreamChunk::BlockEnd { index, block });
    }
    Answer::new().chunks(pieces).chunks([finish(FinishReason::ToolCalls {})])
}

/// The beginning of a text, which goes on.
pub(crate) fn begins(text: &str) -> Answer {
    Answer::new().chunks(text_begins(text))
}

pub(crate) fn text_begins(text: &str) -> [StreamChunk; 2] {
    [
        StreamChunk::BlockStart { index: 0, block_type: "text".to_owned() },
        StreamChunk::TextDelta { index: 0, text: text.to_owned() },
    ]
}

/// A whole text with another finish than usual.
pub(crate) fn ended(text: &str, reason: FinishReason) -> Answer {
    let [start, delta] = text_begins(text);
    let end = StreamChunk::BlockEnd { index: 0, block: ContentBlock::text(text) };
    Answer::new().chunks([start, delta, end, finish(reason)])
}

/// How the turns of a session ended, in order.
pub(crate) fn endings(session: &Session) -> Vec<TurnEndReason> {
    let events = session.events();
    let ends = events.iter().filter_map(|event| event.payload::<TurnEnd>().unwrap());
    ends.map(|end| end.reason).collect()
}

/// The texts of a session's conversation.
pub(crate) fn texts(session: &Session) -> Vec<String> {
    session.messages().iter().map(|message| message.text()).collect()
}

/// What happens, in order.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub(crate) fn say(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Hears of what agents do, and of the events of their sessions but for pieces of answers.
    pub(crate) fn listen(&self, ctx: &Context) {
        let said = self.clone();
        ctx.on(CREATED)
            .run(move |agent: &Agent| {
                said.say(format!("created {}", agent.id()));
                Ok(())
            })
            .unwrap();
        let said = self.clone();
        ctx.on(DISPOSED).run(move |agent| said.say(format!("disposed {}", agent.id()))).unwrap();
        let said = self.clone();
        ctx.on(SESSION_START).run(move |start| said.say(format!("start {}", start.source.as_str()))).unwrap();
        let said = self.clone();
        ctx.on(STATUS)
            .run(move |change| said.say(format!("status {:?}", change.status).to_lowercase()))
            .unwrap();
        let said = self.clone();
        ctx.on(INBOX_INSERTED)
            .run(move |change| said.say(format!("inserted {}", change.message.text())))
            .unwrap();
        let said = self.clone();
        ctx.on(INBOX_DISCARDED)
            .run(move |change| said.say(format!("discarded {}", change.message.text())))
            .unwrap();
        let said = self.clone();
        let claimed =
            move |claim: &InboxClaim| said.say(format!("claimed {} in {}", claim.message.text(), claim.turn));
        ctx.on(INBOX_CLAIMED).run(claimed).unwrap();
        let said = self.clone();
        let failed = move |failure: &AgentFailure| {
            said.say(format!("error in {} {}: {}", failure.turn, failure.step, failure.error));
        };
        ctx.on(ERROR).run(failed).unwrap();
        let said = self.clone();
        ctx.on(EVENT)
            .run(move |told: &SessionEvent| {
                if told.event.kind() != "assistant/chunk" {
                    said.say(told.event.kind());
                }
            })
            .unwrap();
    }
}
