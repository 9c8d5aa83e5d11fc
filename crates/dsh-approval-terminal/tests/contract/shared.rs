//! One terminal of the system, however often it is opened.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cordis::Fiber;
use cordis::testing::TestApp;
use dsh_agent::Agent;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, Approvals};
use dsh_approval_terminal::{Config, Terminal};
use tokio_util::sync::CancellationToken;

use crate::fixture::{PROMPT, bounded, in_turn};
use crate::person::Person;

/// An app of its own, with the plugin at this terminal and one agent.
struct Mount {
    app: TestApp,
    agent: Agent,
    plugin: Fiber,
}

impl Mount {
    async fn new(path: &Path, agent: &str) -> Self {
        let app = TestApp::new();
        let config = Config { path: path.to_owned() };
        let plugin = app.plugin(dsh_approval_terminal::plugin(), config).unwrap();
        plugin.ready().await.unwrap();
        let agent = in_turn(&app, agent);
        Self { app, agent, plugin }
    }

    async fn ask(&self, token: &CancellationToken) -> ApprovalOutcome {
        let request = ApprovalRequest::new(&self.agent, "bash").until(token.clone());
        bounded(Approvals::default().request(&self.app, request)).await.unwrap()
    }
}

// spec: approval-permissions/A69
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_of_two_mounts_are_asked_one_after_the_other_and_each_is_given_its_own_line() {
    let (mut person, path) = Person::new();
    let (ada, bob) = (Mount::new(&path, "ada").await, Mount::new(&path, "bob").await);
    let never = CancellationToken::new();
    for round in 0..20 {
        let typing = tokio::task::spawn_blocking(move || {
            for _ in 0..2 {
                let shown = person.sees(PROMPT);
                assert_eq!(shown.matches("Approval needed").count(), 1, "{shown}");
                person.types(if shown.contains("\"ada\"") { "y\n" } else { "n\n" });
            }
            person
        });
        let outcomes = tokio::join!(ada.ask(&never), bob.ask(&never));
        assert_eq!(outcomes, (ApprovalOutcome::AllowedOnce, ApprovalOutcome::Rejected), "round {round}");
        person = typing.await.unwrap();
    }
}

// spec: approval-permissions/A11, cases/A2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_an_unloaded_mount_waits_for_is_not_given_to_the_next_mount() {
    let (mut person, path) = Person::new();
    let (gone, token) = (Mount::new(&path, "ada").await, CancellationToken::new());
    let terminal = Arc::downgrade(&Terminal::open(&path).unwrap());
    let cancelling = token.clone();
    let typing = tokio::task::spawn_blocking(move || {
        person.sees(PROMPT);
        cancelling.cancel();
        person
    });
    assert_eq!(gone.ask(&token).await, ApprovalOutcome::Cancelled);
    assert!(gone.plugin.dispose().await.is_clean());
    let mut person = typing.await.unwrap();

    let next = Mount::new(&path, "bob").await;
    assert!(terminal.strong_count() > 0, "its thread waits for the line");
    let typing = tokio::task::spawn_blocking(move || {
        person.sees("This question was withdrawn.");
        person.types("y\n");
        assert!(!person.sees("That line was not used").contains("bob"));
        person.sees(PROMPT);
        person.types("n\n");
        person
    });
    assert_eq!(next.ask(&CancellationToken::new()).await, ApprovalOutcome::Rejected);
    drop(typing.await.unwrap());
}

#[test]
fn a_terminal_is_the_same_while_it_is_in_use_and_two_are_two() {
    let ((_one, one), (_two, two)) = (Person::new(), Person::new());
    let open = Terminal::open(&one).unwrap();
    assert!(Arc::ptr_eq(&open, &Terminal::open(&one).unwrap()));
    assert!(!Arc::ptr_eq(&open, &Terminal::open(&two).unwrap()));
    let gone = Arc::downgrade(&open);
    drop(open);
    assert_eq!(gone.strong_count(), 0);
    Terminal::open(&one).unwrap();
}

/// Says to this program that it runs as the only process of a session.
const ALONE: &str = "DSH_TEST_SESSION_OF_ITS_OWN";

#[test]
fn the_terminal_that_controls_the_session_is_the_same_under_both_its_names() {
    if std::env::var_os(ALONE).is_none() {
        let test = "shared::the_terminal_that_controls_the_session_is_the_same_under_both_its_names";
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again.args(["--exact", test]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("1 passed"), "{}: {said}", output.status);
        return;
    }
    rustix::process::setsid().unwrap();
    let (person, path) = Person::new();
    // A hang-up would end the session's first process, which is this one.
    std::mem::forget(person);
    let terminal = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    rustix::process::ioctl_tiocsctty(&terminal).unwrap();
    let open = Terminal::open(&path).unwrap();
    assert!(Arc::ptr_eq(&open, &Terminal::open(Path::new("/dev/tty")).unwrap()));
}
