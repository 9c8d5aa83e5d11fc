//! An app with sessions, their checkers and the plugin, and one agent whose turn and step are open.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, Fiber, ListenerPanic};
use dsh_agent::testing::MemoryAgents;
use dsh_agent::{AGENTS, Agent, REQUEST_ERROR, Recovered, Recovery, RequestError};
use dsh_llm::{Backoff, LlmFailure, RetryPolicy, code};
use dsh_llm_retry::{Config, LlmRetry, LlmRetryStarted};
use dsh_session::{
    CreateSession, NewEvent, Payload, SESSIONS, Session, StepEnd, StepStart, TurnEnd, TurnEndReason,
    TurnStart,
};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) const PROVIDER: &str = "deepseek-official";

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) retry: Fiber,
    pub(crate) agent: Agent,
    pub(crate) session: Arc<Session>,
    pub(crate) cancellation: CancellationToken,
    _agents: Arc<MemoryAgents>,
}

impl Fixture {
    /// The first step of the first turn is open.
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_llm_retry::invariants::plugin(), ()).unwrap().ready().await.unwrap();
        let retry = app.plugin(dsh_llm_retry::plugin(), Config::default()).unwrap();
        retry.ready().await.unwrap();
        let sessions = app.get(SESSIONS).unwrap();
        let session = sessions.get().unwrap().create(&app, CreateSession::default()).unwrap();
        let (agent, _) = dsh_agent::testing::agent(&app, session.clone()).unwrap();
        let agents = Arc::new(MemoryAgents::default());
        agents.add(&agent, None);
        app.provide(AGENTS, agents.service()).unwrap();
        let cancellation = CancellationToken::new();
        let fixture = Self { app, retry, agent, session, cancellation, _agents: agents };
        fixture.log(&TurnStart { turn: 1 });
        fixture.log(&StepStart { turn: 1, step: 1 });
        fixture
    }

    pub(crate) fn log<P: Payload>(&self, data: &P) {
        self.session.append(NewEvent::new(data).unwrap()).unwrap();
    }

    pub(crate) fn next_step(&self, turn: u64, step: u64) {
        self.log(&StepEnd { turn, step });
        self.log(&StepStart { turn, step: step + 1 });
    }

    pub(crate) fn next_turn(&self, turn: u64, step: u64) {
        self.log(&StepEnd { turn, step });
        self.log(&TurnEnd { turn, reason: TurnEndReason::Completed {} });
        self.log(&TurnStart { turn: turn + 1 });
        self.log(&StepStart { turn: turn + 1, step: 1 });
    }

    /// A failure of the first step.
    pub(crate) fn error(&self, policy: &RetryPolicy, failure: LlmFailure) -> RequestError {
        RequestError {
            agent: self.agent.clone(),
            turn: 1,
            step: 1,
            provider: PROVIDER.to_owned(),
            failure,
            retry_policy: Some(policy.clone()),
            cancellation: self.cancellation.clone(),
        }
    }

    pub(crate) async fn fails(&self, error: RequestError) -> Recovered {
        self.dispatch(error).await.unwrap()
    }

    pub(crate) async fn dispatch(&self, mut error: RequestError) -> Result<Recovered, ListenerPanic> {
        let nobody = async |&(): &(), _error: &mut RequestError| Ok(Recovery::None);
        self.app.waterfall(REQUEST_ERROR, &mut error, &(), nobody).await
    }

    /// What comes of it, and how many ms that took.
    pub(crate) async fn timed(&self, policy: &RetryPolicy, failure: LlmFailure) -> (Recovery, u128) {
        let start = Instant::now();
        let recovery = self.fails(self.error(policy, failure)).await.unwrap();
        (recovery, start.elapsed().as_millis())
    }

    /// Listens below the plugin, and notes the codes of what it is asked about.
    pub(crate) fn below(&self, answer: Answer) -> Arc<Mutex<Vec<String>>> {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let listener = async |(asked, answer): &(Arc<Mutex<Vec<String>>>, Answer),
                              error: &mut RequestError,
                              next: cordis::Next<'_, RequestError, Recovered>| {
            asked.lock().push(error.failure.code.clone());
            match answer {
                Answer::Retry => Ok(Recovery::Retry),
                Answer::Fail(text) => Err(BoxError::from(*text)),
                Answer::HandOn => next.run(error).await,
            }
        };
        self.app.on(REQUEST_ERROR).with((asked.clone(), answer)).run(listener).unwrap();
        asked
    }

    pub(crate) fn retries(&self) -> Vec<LlmRetry> {
        self.session.events().iter().filter_map(|event| event.payload().unwrap()).collect()
    }

    pub(crate) fn started(&self) -> Vec<LlmRetryStarted> {
        self.session.events().iter().filter_map(|event| event.payload().unwrap()).collect()
    }

    /// The types of the log's events, from a place on.
    pub(crate) fn kinds_from(&self, place: usize) -> Vec<String> {
        self.session.events().from(place).map(|event| event.kind().to_owned()).collect()
    }

    /// Waits until so many retries were logged.
    pub(crate) async fn until_scheduled(&self, count: usize) {
        while self.retries().len() < count {
            tokio::task::yield_now().await;
        }
    }
}

/// What a listener below the plugin does.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    Retry,
    Fail(&'static str),
    HandOn,
}

/// Waits of 500, 1000, 2000 … ms up to 10 s, for the usual codes.
pub(crate) fn exact(max_retries: u32) -> RetryPolicy {
    let RetryPolicy::Normal { retryable_codes, .. } = RetryPolicy::default() else { unreachable!() };
    RetryPolicy::Normal { max_retries, retryable_codes, backoff: steady() }
}

pub(crate) fn without_end() -> RetryPolicy {
    RetryPolicy::Always { backoff: steady() }
}

pub(crate) fn steady() -> Backoff {
    Backoff { jitter_ratio: 0.0, ..Backoff::default() }
}

pub(crate) fn transport() -> LlmFailure {
    LlmFailure::new(code::TRANSPORT, "the connection was reset")
}

pub(crate) fn hinted(ms: f64) -> LlmFailure {
    LlmFailure { provider_retry_after_ms: Some(ms), ..LlmFailure::new(code::RATE_LIMIT, "slow down") }
}
