//! A turn that is cancelled ends, whatever those do who are asked in it, and one in which nothing waits lets others go on.

use std::future::pending;
use std::sync::Arc;

use cordis::{BoxError, Next};
use dsh_agent::{
    AgentRequest, PRE_STEP, PreStep, PreStepDecision, REQUEST, REQUEST_ERROR, Recovered, RequestError,
    Requested, TURN_STOPPING, TurnStopping,
};
use dsh_llm::testing::{Answer, finish};
use dsh_llm::{FinishReason, LlmFailure, ModelCall, Outcome, STREAM, StreamChunk};
use dsh_prompt::{ASSEMBLE, Assembling, PromptAssembly};
use dsh_session::{CancelCause, TurnEndReason};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, calls, ended, endings, kinds, said};

/// Whoever is asked and does not answer.
#[derive(Clone, Copy, Debug)]
enum Silent {
    Assemble,
    PreStep,
    Request,
    RequestError,
    Stopping,
}

async fn never(reached: &CancellationToken) {
    reached.cancel();
    pending::<()>().await;
}

fn listen(fixture: &Fixture, silent: Silent, reached: &CancellationToken) {
    let (app, reached) = (&fixture.app, reached.clone());
    type Assembled = Result<PromptAssembly, BoxError>;
    match silent {
        Silent::Assemble => app.on(ASSEMBLE).with(reached).run(
            async |reached: &CancellationToken,
                   call: &mut Assembling,
                   next: Next<'_, Assembling, Assembled>| {
                never(reached).await;
                next.run(call).await
            },
        ),
        Silent::PreStep => app.on(PRE_STEP).with(reached).run(
            async |reached: &CancellationToken,
                   call: &mut PreStep,
                   next: Next<'_, PreStep, PreStepDecision>| {
                never(reached).await;
                next.run(call).await
            },
        ),
        Silent::Request => app.on(REQUEST).with(reached).run(
            async |reached: &CancellationToken,
                   call: &mut AgentRequest,
                   next: Next<'_, AgentRequest, Requested>| {
                never(reached).await;
                next.run(call).await
            },
        ),
        Silent::RequestError => app.on(REQUEST_ERROR).with(reached).run(
            async |reached: &CancellationToken,
                   call: &mut RequestError,
                   next: Next<'_, RequestError, Recovered>| {
                never(reached).await;
                next.run(call).await
            },
        ),
        Silent::Stopping => {
            app.on(TURN_STOPPING).with(reached).run(async |reached: &CancellationToken, _: &TurnStopping| {
                never(reached).await;
                Ok(None)
            })
        }
    }
    .unwrap();
}

// spec: agent-loop/S74, design/P1
#[tokio::test(start_paused = true)]
async fn who_does_not_answer_in_a_cancelled_turn_is_given_up() {
    for silent in [Silent::Assemble, Silent::PreStep, Silent::Request, Silent::RequestError, Silent::Stopping]
    {
        let failure = LlmFailure::new("OVERLOADED", "not now");
        let answer = match silent {
            Silent::RequestError => ended("half", FinishReason::Error { failure }),
            _ => Answer::text("done"),
        };
        let fixture = Fixture::new([answer]).await;
        let agent = fixture.agent("a").await;
        let reached = CancellationToken::new();
        listen(&fixture, silent, &reached);
        agent.followup(said("go")).unwrap();
        reached.cancelled().await;
        agent.cancel(CancelCause::User {}).unwrap();
        agent.when_idle().await;
        let ends = endings(agent.session());
        assert_eq!(ends, [TurnEndReason::Aborted { reason: CancelCause::User {} }], "{silent:?}");
        let kinds = kinds(agent.session());
        let count = |kind: &str| kinds.iter().filter(|it| *it == kind).count();
        assert_eq!(count("step/start"), count("step/end"), "{silent:?}");
        assert!(agent.dispose().await.is_clean(), "{silent:?}");
        assert!(fixture.app.shutdown().await.is_clean(), "{silent:?}");
    }
}

// spec: agent-loop/S49, agent-loop/S74
#[tokio::test(start_paused = true)]
async fn who_is_told_of_a_cancellation_may_finish() {
    let fixture = Fixture::new([Answer::text("never")]).await;
    let agent = fixture.agent("a").await;
    let (asked, finished) = (CancellationToken::new(), CancellationToken::new());
    let listener = async |(asked, finished): &(CancellationToken, CancellationToken),
                          step: &mut PreStep,
                          next: Next<'_, PreStep, PreStepDecision>| {
        asked.cancel();
        step.cancellation.cancelled().await;
        // As long as a program may take that does not end by itself.
        tokio::time::sleep(std::time::Duration::from_secs(6)).await;
        finished.cancel();
        next.run(step).await
    };
    fixture.app.on(PRE_STEP).with((asked.clone(), finished.clone())).run(listener).unwrap();
    agent.followup(said("go")).unwrap();
    asked.cancelled().await;
    agent.cancel(CancelCause::User {}).unwrap();
    agent.when_idle().await;
    assert!(finished.is_cancelled());
    assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::User {} }]);
}

/// Has somebody on the same thread cancel the agent as soon as it is their turn.
async fn cancelled_beside(fixture: &Fixture) -> Vec<TurnEndReason> {
    let agent = Arc::new(fixture.agent("a").await);
    agent.followup(said("go")).unwrap();
    let beside = Arc::clone(&agent);
    let told = tokio::spawn(async move { beside.cancel(CancelCause::User {}) });
    agent.when_idle().await;
    told.await.unwrap().unwrap();
    endings(agent.session())
}

// spec: agent-loop/S71
#[tokio::test]
async fn an_answer_that_is_always_there_lets_others_go_on() {
    let fixture = Fixture::new([]).await;
    let answers = async |call: &mut ModelCall, _: Next<'_, ModelCall, Outcome>| -> Outcome {
        call.out.send(StreamChunk::BlockStart { index: 0, block_type: "text".into() }).await;
        for _ in 0..5_000 {
            call.out.send(StreamChunk::TextDelta { index: 0, text: "x".into() }).await;
        }
        call.out.send(finish(FinishReason::Stop {})).await;
        Ok(())
    };
    fixture.app.on(STREAM).run(answers).unwrap();
    let aborted = TurnEndReason::Aborted { reason: CancelCause::User {} };
    assert_eq!(cancelled_beside(&fixture).await, [aborted]);
}

// spec: agent-loop/S71
#[tokio::test]
async fn tools_that_are_done_at_once_let_others_go_on() {
    let steps = (0..200).map(|_| calls(&[("c", "echo", json!({ "text": "again" }))]));
    let fixture = Fixture::new(steps.chain([Answer::text("done")])).await;
    fixture.echo(&fixture.app, "echo");
    let aborted = TurnEndReason::Aborted { reason: CancelCause::User {} };
    assert_eq!(cancelled_beside(&fixture).await, [aborted]);
}
