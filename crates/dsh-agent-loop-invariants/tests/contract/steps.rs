//! Where in a log a request may be made.

use std::sync::Arc;

use dsh_agent_loop_invariants::{Violation, check_request};
use dsh_session::{Session, StepEnd, StepStart, TurnEnd, TurnEndReason, TurnStart};

use crate::fixture::{Fixture, begin, header, log, log_header, request, say};

fn ada() -> String {
    "ada".to_owned()
}

/// What comes of the request of a log like this.
async fn asked(log: impl FnOnce(&Arc<Session>)) -> Result<(), Violation> {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("ada");
    log(agent.session());
    let request = request(agent.session());
    let checked = check_request(&request, agent.session());
    assert_eq!(fixture.asked(request.built_by_loop()).await, checked);
    checked
}

// spec: agent-loop/S69
#[tokio::test]
async fn a_request_is_made_in_an_open_step_of_the_open_turn() {
    let outside_turn = Err(Violation::OutsideTurn { session: ada() });
    let outside_step = Err(Violation::OutsideStep { session: ada() });
    assert_eq!(asked(|_| {}).await, outside_turn);
    assert_eq!(asked(|session| log(session, &TurnStart { turn: 1 })).await, outside_step);
    let first_step = |session: &Arc<Session>| {
        begin(session);
        log_header(session, header());
        log(session, &StepEnd { turn: 1, step: 1 });
    };
    assert_eq!(asked(first_step).await, outside_step);
    let second_step = |session: &Arc<Session>| {
        first_step(session);
        log(session, &StepStart { turn: 1, step: 2 });
        say(session, "three");
    };
    assert_eq!(asked(second_step).await, Ok(()));
    let first_turn = |session: &Arc<Session>| {
        first_step(session);
        log(session, &TurnEnd { turn: 1, reason: TurnEndReason::Completed {} });
    };
    assert_eq!(asked(first_turn).await, outside_turn);
    let second_turn = |session: &Arc<Session>| {
        first_turn(session);
        log(session, &TurnStart { turn: 2 });
    };
    assert_eq!(asked(second_turn).await, outside_step);
    let its_step = |session: &Arc<Session>| {
        second_turn(session);
        log(session, &StepStart { turn: 2, step: 1 });
    };
    assert_eq!(asked(its_step).await, Ok(()));
}

// spec: agent-loop/S69
#[test]
fn a_step_that_an_earlier_turn_left_open_is_none_of_the_open_turn() {
    let session = Session::detached("ada");
    begin(&session);
    log_header(&session, header());
    assert_eq!(check_request(&request(&session), &session), Ok(()));
    log(&session, &TurnEnd { turn: 1, reason: TurnEndReason::Completed {} });
    log(&session, &TurnStart { turn: 2 });
    let outside_step = Err(Violation::OutsideStep { session: ada() });
    assert_eq!(check_request(&request(&session), &session), outside_step);
}

// spec: agent-loop/S69
#[tokio::test]
async fn a_request_is_made_after_a_header_was_logged() {
    assert_eq!(asked(begin).await, Err(Violation::NoHeader { session: ada() }));
}
