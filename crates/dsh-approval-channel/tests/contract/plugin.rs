//! The plugin: whom it serves, and what is left of it.

use cordis::State;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use dsh_approval_channel::{AnswerError, CHANNEL, Decision};

use crate::fixture::{Fixture, in_turn, next_id};

// spec: approval-permissions/A9
#[tokio::test]
async fn mounted_on_an_agent_it_is_asked_for_that_agent_alone() {
    let fixture = Fixture::new().await;
    fixture.plugin.dispose().await;
    let plugin = fixture.agent.context().plugin(dsh_approval_channel::plugin(), ()).unwrap();
    assert_eq!(plugin.ready().await.unwrap(), State::Active);
    let mut questions = fixture.attach();
    let bob = in_turn(&fixture.app, "bob");
    assert_eq!(fixture.ask_for(ApprovalRequest::new(&bob, "bash")).await, ApprovalOutcome::Unavailable);
    let (outcome, ()) = tokio::join!(fixture.ask(), async {
        let id = next_id(&mut questions).await;
        questions.answer(&id, Decision::AllowOnce).unwrap();
    });
    assert_eq!(outcome, ApprovalOutcome::AllowedOnce);
}

// spec: approval-permissions/A72
#[tokio::test(start_paused = true)]
async fn a_question_that_is_open_when_the_plugin_unloads_can_still_be_answered() {
    let fixture = Fixture::new().await;
    let mut questions = fixture.attach();
    let (outcome, disposed) = tokio::join!(fixture.ask(), async {
        let id = next_id(&mut questions).await;
        let (disposed, ()) = tokio::join!(fixture.plugin.dispose(), async {
            while fixture.app.get(CHANNEL).is_some() {
                tokio::task::yield_now().await;
            }
            questions.answer(&id, Decision::AllowOnce).unwrap();
        });
        disposed
    });
    assert_eq!(outcome, ApprovalOutcome::AllowedOnce);
    assert!(disposed.is_clean(), "{disposed:?}");
    assert_eq!((questions.next().await, fixture.app.listeners(REQUEST)), (None, 0));
    assert_eq!(fixture.ask().await, ApprovalOutcome::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_while_the_plugin_unloads_is_asked_elsewhere() {
    let fixture = Fixture::new().await;
    let _rest = fixture.app.on(REQUEST).run(async |_, _| ApprovalOutcome::Rejected).unwrap();
    let mut questions = fixture.attach();
    let (outcome, id) = tokio::join!(fixture.ask(), async {
        let id = next_id(&mut questions).await;
        fixture.plugin.dispose().await;
        id
    });
    assert_eq!(outcome, ApprovalOutcome::Rejected);
    assert_eq!(questions.next().await, None);
    assert_eq!(questions.answer(&id, Decision::AllowOnce), Err(AnswerError::Stale { id }));
}
