//! What counts as an answer, and who answers where nobody does.

use dsh_approval::{ApprovalOutcome, REQUEST};

use crate::fixture::{AGAIN, Fixture, PROMPT};

const ALLOWED: ApprovalOutcome = ApprovalOutcome::AllowedOnce;
const REJECTED: ApprovalOutcome = ApprovalOutcome::Rejected;

// spec: approval-permissions/A4, A9
#[tokio::test]
async fn yes_allows_once_and_no_rejects() {
    let fixture = Fixture::new();
    let lines = [("y", ALLOWED), ("n", REJECTED), ("YES", ALLOWED), (" No \r", REJECTED)];
    for (asked, (line, expected)) in lines.into_iter().enumerate() {
        let (outcome, ()) = tokio::join!(fixture.ask("bash"), async {
            fixture.screen.shows(PROMPT, asked + 1).await;
            fixture.keys.press(&format!("{line}\n"));
        });
        assert_eq!(outcome, expected, "{line:?}");
    }
}

#[tokio::test]
async fn anything_else_asks_again() {
    let fixture = Fixture::new();
    // Longer than a line may be, with a beginning or an end that would be an answer.
    let beginning = format!("y{}no\n", " ".repeat(5000));
    let end = format!("{}y\n", "x".repeat(1280));
    let lines: [&[u8]; 7] =
        [b"\n", b"yep\n", b"y n\n", b"1\n", b"\xff\xfe\n", beginning.as_bytes(), end.as_bytes()];
    let (outcome, ()) = tokio::join!(fixture.ask("bash"), async {
        fixture.screen.shows(PROMPT, 1).await;
        for (wrong, line) in lines.iter().enumerate() {
            fixture.keys.press_bytes(line);
            fixture.screen.shows(AGAIN, wrong + 1).await;
        }
        fixture.keys.press("y\n");
    });
    assert_eq!((outcome, fixture.screen.text().matches(PROMPT).count()), (ALLOWED, 1));
}

#[tokio::test]
async fn a_line_may_come_in_pieces() {
    let fixture = Fixture::new();
    let (outcome, ()) = tokio::join!(fixture.ask("bash"), async {
        fixture.screen.shows(PROMPT, 1).await;
        for piece in ["y", "e", "s", "\n"] {
            fixture.keys.press(piece);
        }
    });
    assert_eq!(outcome, ALLOWED);
}

// spec: approval-permissions/A9
#[tokio::test]
async fn at_the_end_of_the_input_others_are_asked() {
    let Fixture { app, agent, keys, screen, listener, .. } = Fixture::new();
    let ask = || async {
        let request = dsh_approval::ApprovalRequest::new(&agent, "bash");
        dsh_approval::Approvals::default().request(&app, request).await.unwrap()
    };
    let (outcome, ()) = tokio::join!(ask(), async {
        screen.shows(PROMPT, 1).await;
        // An answer without its line end is none.
        keys.press("y");
        drop(keys);
    });
    assert_eq!(outcome, ApprovalOutcome::Unavailable);
    let _rest = app.on(REQUEST).run(async |_, _| ApprovalOutcome::Rejected).unwrap();
    assert_eq!(ask().await, REJECTED);
    drop(listener);
}

#[tokio::test]
async fn a_question_that_cannot_be_shown_is_left_to_others() {
    let fixture = Fixture::without_output();
    fixture.keys.press("y\n");
    let _rest = fixture.app.on(REQUEST).run(async |_, _| ApprovalOutcome::Rejected).unwrap();
    assert_eq!(fixture.ask("bash").await, REJECTED);
}

// spec: approval-permissions/A69
#[tokio::test]
async fn two_questions_at_once_are_asked_one_after_the_other() {
    let fixture = Fixture::new();
    let (one, two, ()) = tokio::join!(fixture.ask("one"), fixture.ask("two"), async {
        fixture.screen.shows(PROMPT, 1).await;
        let first = fixture.screen.text();
        let first = if first.contains("\"one\"") { "one" } else { "two" };
        assert_eq!(fixture.screen.text().matches("Approval needed").count(), 1);
        fixture.keys.press(if first == "one" { "y\n" } else { "n\n" });
        fixture.screen.shows(PROMPT, 2).await;
        fixture.keys.press(if first == "one" { "n\n" } else { "y\n" });
    });
    assert_eq!((one, two), (ALLOWED, REJECTED));
}
