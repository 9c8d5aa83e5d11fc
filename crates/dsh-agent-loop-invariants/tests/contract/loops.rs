//! Whole loops: one that is right, and what is told of one that is not.

use std::sync::Arc;

use cordis::{BoxFuture, Context};
use dsh_agent::{AGENTS, Activity, Agent, AgentLoop, LoopDriver, Target};
use dsh_agent_loop_invariants::Violation;
use dsh_llm::testing::collected;
use dsh_llm::{ContentBlock, LLM, Message};
use dsh_session::{NewEvent, StepEnd, StepStart, TurnEnd, TurnEndReason, TurnStart};
use parking_lot::Mutex;

use crate::fixture::{Fixture, header, log, log_header, request};

/// When a loop says what it was told.
#[derive(Clone, Copy)]
enum Says {
    BeforeTheRequest,
    AfterTheRequest,
}

/// Asks its model once in each turn.
#[derive(Clone)]
struct Asks {
    ctx: Context,
    says: Says,
    refused: Arc<Mutex<Vec<String>>>,
}

impl AgentLoop for Asks {
    fn wake(&self, activity: Activity) -> BoxFuture<'static, ()> {
        let asks = self.clone();
        Box::pin(async move {
            let mut turn = 0;
            loop {
                turn += 1;
                asks.turn(activity.agent(), turn).await;
                if !activity.go_on() {
                    return;
                }
            }
        })
    }
}

impl Asks {
    async fn turn(&self, agent: &Agent, turn: u64) {
        let session = agent.session();
        log(session, &TurnStart { turn });
        let claimed = agent.inbox().claim(Target::NextTurn, turn).unwrap();
        log(session, &StepStart { turn, step: 1 });
        let say = |messages: &[Arc<Message>]| {
            for message in messages {
                session.append(NewEvent::user(message.clone()).unwrap()).unwrap();
            }
        };
        if turn == 1 {
            log_header(session, header());
        }
        let early = request(session).built_by_loop();
        say(&claimed);
        let request = match self.says {
            Says::BeforeTheRequest => request(session).built_by_loop(),
            Says::AfterTheRequest => early,
        };
        let stream = self.ctx.get(LLM).unwrap().get().unwrap().stream(request);
        if let Err(error) = collected(stream).await {
            let source = std::error::Error::source(&error).unwrap().to_string();
            self.refused.lock().push(source);
        }
        log(session, &StepEnd { turn, step: 1 });
        log(session, &TurnEnd { turn, reason: TurnEndReason::Completed {} });
    }
}

/// An agent that is asked twice, and then ends; what its loop was refused.
async fn lives(fixture: &Fixture, says: Says) -> Vec<String> {
    let refused = Arc::<Mutex<Vec<String>>>::default();
    let asks = Asks { ctx: fixture.app.root(), says, refused: refused.clone() };
    let ada = fixture.driven("ada", Arc::new(LoopDriver::new(fixture.app.root(), asks)));
    let agents = fixture.app.get(AGENTS).unwrap();
    let registered = agents.get().unwrap().register(&fixture.app, &ada).unwrap();
    for text in ["one", "two"] {
        ada.followup(Arc::new(Message::user(vec![ContentBlock::text(text)]))).unwrap();
    }
    ada.when_idle().await;
    ada.context().fiber().dispose().await;
    registered.dispose().await;
    refused.lock().clone()
}

// spec: agent-loop/S7, agent-loop/S69
#[tokio::test]
async fn nothing_is_told_of_a_loop_that_is_right() {
    let fixture = Fixture::new().await;
    assert!(lives(&fixture, Says::BeforeTheRequest).await.is_empty());
    assert_eq!(fixture.watched.take(), []);
    assert_eq!(fixture.model.requests().len(), 2);
    fixture.app.quiet().await;
    fixture.app.assert_no_errors();
}

// spec: agent-loop/S69
#[tokio::test]
async fn a_loop_that_says_something_after_it_made_the_request_is_refused() {
    let fixture = Fixture::new().await;
    let refused = lives(&fixture, Says::AfterTheRequest).await;
    let violations: Vec<_> = [(0, 0, 1), (1, 1, 2)]
        .map(|(place, asked, logged)| Violation::Messages { session: "ada".to_owned(), place, asked, logged })
        .into();
    assert_eq!(refused, violations.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(fixture.watched.take(), violations);
    assert!(fixture.model.requests().is_empty());
}

#[tokio::test]
#[should_panic(expected = "loops broke rules")]
async fn a_watch_that_is_dropped_fails_the_test_of_a_loop_that_is_wrong() {
    let fixture = Fixture::new().await;
    lives(&fixture, Says::AfterTheRequest).await;
}
