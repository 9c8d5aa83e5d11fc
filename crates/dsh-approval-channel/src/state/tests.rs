#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::testing::TestApp;
use dsh_agent::testing::agent;
use dsh_approval::ApprovalRequest;
use dsh_session::Session;

use super::Shared;
use crate::error::AnswerError;
use crate::question::Decision;

// spec: cases/A2
#[tokio::test]
async fn an_answer_that_its_asker_went_away_from_is_stale_and_stays_so() {
    let app = TestApp::new();
    let (ada, _inbox) = agent(&app, Session::detached("ada")).unwrap();
    let shared = Shared::default();
    shared.attach();
    let asked = shared.ask(&ApprovalRequest::new(&ada, "bash")).unwrap();
    let id = shared.pending()[0].id.clone();
    // The asker is gone, and has not said so.
    drop(asked);
    let stale = Err(AnswerError::Stale { id: id.clone() });
    for decision in [Decision::AllowOnce, Decision::AllowOnce, Decision::Reject] {
        assert_eq!(shared.answer(&id, decision), stale);
    }
}
