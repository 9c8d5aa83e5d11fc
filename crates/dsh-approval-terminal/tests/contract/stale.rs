//! Lines that are no answer to the question on the screen.

use dsh_approval::ApprovalOutcome;
use tokio_util::sync::CancellationToken;

use crate::fixture::{AGAIN, Fixture, PROMPT};

const ALLOWED: ApprovalOutcome = ApprovalOutcome::AllowedOnce;
const REJECTED: ApprovalOutcome = ApprovalOutcome::Rejected;

// spec: approval-permissions/A11, cases/A2
#[tokio::test]
async fn a_cancelled_question_is_over_at_once_and_its_late_line_does_not_answer_the_next() {
    let fixture = Fixture::new();
    let token = CancellationToken::new();
    let (outcome, ()) = tokio::join!(fixture.ask_for(fixture.question("one").until(token.clone())), async {
        fixture.screen.shows(PROMPT, 1).await;
        token.cancel();
    });
    assert_eq!(outcome, ApprovalOutcome::Cancelled);
    fixture.screen.shows("This question was withdrawn.", 1).await;

    let (outcome, ()) = tokio::join!(fixture.ask("two"), async {
        tokio::task::yield_now().await;
        // The thread still waits for the line of the first question.
        fixture.keys.press("y\n");
        fixture.screen.shows("That line was not used", 1).await;
        fixture.screen.shows("\"two\"", 2).await;
        fixture.screen.shows(PROMPT, 2).await;
        fixture.keys.press("n\n");
    });
    assert_eq!(outcome, REJECTED);
}

#[tokio::test]
async fn the_next_question_is_not_shown_before_the_line_of_a_cancelled_one_has_come() {
    let fixture = Fixture::new();
    let token = CancellationToken::new();
    let (_, ()) = tokio::join!(fixture.ask_for(fixture.question("one").until(token.clone())), async {
        fixture.screen.shows(PROMPT, 1).await;
        token.cancel();
    });
    let (outcome, ()) = tokio::join!(fixture.ask("two"), async {
        fixture.screen.shows("Press Enter", 1).await;
        assert!(!fixture.screen.text().contains("\"two\""));
        fixture.keys.press("\n");
        fixture.screen.shows(PROMPT, 2).await;
        fixture.keys.press("y\n");
    });
    assert_eq!(outcome, ALLOWED);
    assert!(!fixture.screen.text().contains("was not used"), "an empty line is what was asked for");
}

#[tokio::test]
async fn what_was_typed_before_a_question_does_not_answer_it() {
    let fixture = Fixture::new();
    fixture.keys.press("y\n");
    fixture.keys.press("y\n");
    let (outcome, ()) = tokio::join!(fixture.ask("one"), async {
        fixture.screen.shows(PROMPT, 1).await;
        fixture.keys.press("n\n");
    });
    assert_eq!(outcome, REJECTED);
}

// spec: approval-permissions/A9
#[tokio::test]
async fn what_was_typed_while_the_question_was_held_up_does_not_answer_it() {
    let (fixture, gate) = Fixture::held_up();
    let (outcome, ()) = tokio::join!(fixture.ask("one"), async {
        fixture.writes(1).await;
        assert_eq!(fixture.screen.text(), "");
        fixture.keys.press("y\n");
        drop(gate);
        fixture.screen.shows(PROMPT, 1).await;
        fixture.keys.press("n\n");
    });
    assert_eq!(outcome, REJECTED);
}

#[tokio::test]
async fn what_was_typed_while_it_was_held_up_to_be_asked_again_does_not_answer() {
    let (fixture, gate) = Fixture::held_up();
    let (outcome, ()) = tokio::join!(fixture.ask("one"), async {
        gate.let_one_pass();
        gate.let_one_pass();
        fixture.screen.shows(PROMPT, 1).await;
        fixture.keys.press("what?\n");
        fixture.writes(3).await;
        fixture.keys.press("y\n");
        drop(gate);
        fixture.screen.shows(AGAIN, 1).await;
        fixture.keys.press("n\n");
    });
    assert_eq!(outcome, REJECTED);
}

#[tokio::test]
async fn a_line_that_is_typed_once_the_question_can_be_read_answers_it() {
    let (fixture, gate) = Fixture::held_up();
    let (outcome, ()) = tokio::join!(fixture.ask("one"), async {
        gate.let_one_pass();
        // All but the mark that says where to type.
        fixture.writes(2).await;
        fixture.screen.shows("to do this once?", 1).await;
        fixture.keys.press("y\n");
        drop(gate);
    });
    assert_eq!(outcome, ALLOWED);
}

#[tokio::test]
async fn lines_behind_an_answer_do_not_answer_the_next_question() {
    let fixture = Fixture::new();
    let (outcome, ()) = tokio::join!(fixture.ask("one"), async {
        fixture.screen.shows(PROMPT, 1).await;
        fixture.keys.press("y\ny\ny\n");
    });
    assert_eq!(outcome, ALLOWED);
    let (outcome, ()) = tokio::join!(fixture.ask("two"), async {
        fixture.screen.shows(PROMPT, 2).await;
        fixture.keys.press("n\n");
    });
    assert_eq!(outcome, REJECTED);
}

#[tokio::test]
async fn lines_behind_a_wrong_one_do_not_answer_when_it_is_asked_again() {
    let fixture = Fixture::new();
    let (outcome, ()) = tokio::join!(fixture.ask("one"), async {
        fixture.screen.shows(PROMPT, 1).await;
        fixture.keys.press("a text that was pasted\ny\n");
        fixture.screen.shows(AGAIN, 1).await;
        fixture.keys.press("n\n");
    });
    assert_eq!(outcome, REJECTED);
}

// spec: approval-permissions/A11
#[tokio::test]
async fn a_question_that_is_cancelled_while_another_is_asked_is_never_shown() {
    let fixture = Fixture::new();
    let token = CancellationToken::new();
    let (one, two) = tokio::join!(fixture.ask("one"), async {
        fixture.screen.shows(PROMPT, 1).await;
        let second = fixture.ask_for(fixture.question("two").until(token.clone()));
        let (two, ()) = tokio::join!(biased; second, async { token.cancel() });
        fixture.keys.press("y\n");
        two
    });
    assert_eq!((one, two), (ALLOWED, ApprovalOutcome::Cancelled));
    assert!(!fixture.screen.text().contains("\"two\""), "{}", fixture.screen.text());
    assert!(!fixture.screen.text().contains("withdrawn"), "{}", fixture.screen.text());
}
