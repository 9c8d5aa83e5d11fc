//! Who answers, and what an answer is worth.

use std::sync::{Arc, Mutex};

use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use serde_json::json;
use tokio::sync::oneshot;

use crate::fixture::{Fixture, answer, pairs};

// spec: approval-permissions/A9, A13
#[tokio::test]
async fn a_question_that_nobody_hears_is_unavailable() {
    let fixture = Fixture::in_turn();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Unavailable);
    assert_eq!(pairs(fixture.session()), [json!([{"toolName": "bash"}, "unavailable"])]);
}

// spec: approval-permissions/A9
#[tokio::test]
async fn the_first_answer_decides_and_one_who_delegates_leaves_it_to_the_rest() {
    let fixture = Fixture::in_turn();
    fixture.app.on(REQUEST).run(async |request, next| next.run(request).await).unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Unavailable);
    let _no = answer(&fixture.app, ApprovalOutcome::Rejected);
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Rejected);
}

// spec: approval-permissions/A9
#[tokio::test]
async fn answerers_of_an_agent_are_asked_for_it_alone() {
    let fixture = Fixture::in_turn();
    let bob = fixture.another("bob");
    let _of_ada = answer(fixture.agent.context(), ApprovalOutcome::Rejected);
    let _of_bob = answer(bob.context(), ApprovalOutcome::AllowedOnce);
    let ask = |agent| fixture.approvals.request(&fixture.app, ApprovalRequest::new(agent, "bash"));
    assert_eq!(ask(&fixture.agent).await.unwrap(), ApprovalOutcome::Rejected);
    assert_eq!(ask(&bob).await.unwrap(), ApprovalOutcome::AllowedOnce);
    let carol = fixture.another("carol");
    assert_eq!(ask(&carol).await.unwrap(), ApprovalOutcome::Unavailable);
    let _of_all = answer(&fixture.app, ApprovalOutcome::Rejected);
    assert_eq!(ask(&carol).await.unwrap(), ApprovalOutcome::Rejected);
}

// spec: approval-permissions/A9
#[tokio::test]
async fn answerers_of_an_agents_ancestor_are_asked() {
    let fixture = Fixture::in_turn();
    let preset = fixture.app.scope().unwrap();
    let _of_preset = answer(preset.context(), ApprovalOutcome::AllowedOnce);
    let _bound = fixture.agent.scope().bind_parent(preset.key()).unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::AllowedOnce);
}

// spec: approval-permissions/A10
#[tokio::test]
async fn an_answerer_that_panics_makes_the_outcome_unavailable() {
    async fn at_once(
        _: &mut ApprovalRequest,
        _: cordis::Next<'_, ApprovalRequest, ApprovalOutcome>,
    ) -> ApprovalOutcome {
        panic!("no screen")
    }
    async fn later(
        _: &mut ApprovalRequest,
        _: cordis::Next<'_, ApprovalRequest, ApprovalOutcome>,
    ) -> ApprovalOutcome {
        tokio::task::yield_now().await;
        panic!("no screen")
    }
    let fixture = Fixture::in_turn();
    let broken = fixture.app.on(REQUEST).run(at_once).unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Unavailable);
    broken.dispose().await;
    fixture.app.on(REQUEST).run(later).unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Unavailable);
    let unavailable = json!([{"toolName": "bash"}, "unavailable"]);
    assert_eq!(pairs(fixture.session()), [unavailable.clone(), unavailable]);
}

// spec: approval-permissions/A3
#[tokio::test]
async fn an_answerer_is_shown_the_whole_question() {
    let fixture = Fixture::in_turn();
    let seen = Arc::new(Mutex::new(None));
    fixture
        .app
        .on(REQUEST)
        .with(seen.clone())
        .run(async |seen: &Arc<Mutex<Option<ApprovalRequest>>>, request: &mut ApprovalRequest, _| {
            *seen.lock().unwrap() = Some(request.clone());
            ApprovalOutcome::Rejected
        })
        .unwrap();
    let arguments = Arc::new(json!({"command": "rm -rf /"}));
    let question = fixture.question().of_call("call-1").because("deletes").with_arguments(arguments.clone());
    assert_eq!(fixture.approvals.request(&fixture.app, question).await.unwrap(), ApprovalOutcome::Rejected);
    let seen = seen.lock().unwrap().take().unwrap();
    assert_eq!(seen.agent, fixture.agent);
    assert_eq!(
        (seen.tool_name.as_str(), seen.call_id.as_deref(), seen.reason.as_deref()),
        ("bash", Some("call-1"), Some("deletes"))
    );
    assert!(Arc::ptr_eq(&seen.arguments.unwrap(), &arguments));
}

// spec: approval-permissions/A3
#[tokio::test]
async fn what_a_listener_changes_reaches_neither_the_log_nor_the_agent() {
    let fixture = Fixture::in_turn();
    let bob = fixture.another("bob");
    fixture
        .app
        .on(REQUEST)
        .with(bob.clone())
        .run(async |bob: &dsh_agent::Agent, request: &mut ApprovalRequest, _| {
            *request = ApprovalRequest::new(bob, "read");
            ApprovalOutcome::Rejected
        })
        .unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Rejected);
    assert_eq!(pairs(fixture.session()), [json!([{"toolName": "bash"}, "rejected"])]);
    assert_eq!(pairs(bob.session()), Vec::<serde_json::Value>::new());
}

// spec: approval-permissions/A72
#[tokio::test(start_paused = true)]
async fn an_answerer_that_unloads_answers_what_it_was_asked_and_nothing_more() {
    type Open = Arc<Mutex<Option<oneshot::Receiver<ApprovalOutcome>>>>;
    let fixture = Fixture::in_turn();
    let (decide, decision) = oneshot::channel();
    let open: Open = Arc::new(Mutex::new(Some(decision)));
    let answerer = fixture
        .app
        .on(REQUEST)
        .with(open.clone())
        .run(async |open: &Open, _, _| {
            let decision = open.lock().unwrap().take().unwrap();
            decision.await.unwrap()
        })
        .unwrap();
    let (outcome, _) = tokio::join!(fixture.ask(), async {
        while open.lock().unwrap().is_some() {
            tokio::task::yield_now().await;
        }
        let gone = answerer.dispose();
        tokio::pin!(gone);
        assert!(futures_pending(gone.as_mut()).await, "it waits for the question that is open");
        decide.send(ApprovalOutcome::AllowedOnce).unwrap();
        gone.await
    });
    assert_eq!(outcome.unwrap(), ApprovalOutcome::AllowedOnce);
    assert_eq!(fixture.app.at(fixture.agent.scope()).listeners(REQUEST), 0);
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Unavailable);
}

/// Whether a future is not ready when it is polled once.
async fn futures_pending<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}
