//! What becomes of commands when plugins are unloaded.

use dsh_shell::{BackgroundStatus, ShellError, ShellRequest};

use crate::fixture::{Fixture, gone, lives, number_in, rest_of};

// spec: fs-shell-sandbox/F98, design/P1
#[tokio::test]
async fn a_background_command_survives_the_shell() {
    let fixture = Fixture::new().await;
    let job = fixture.start("echo $$ > id; until [ -e go ]; do sleep 0.02; done; echo alive");
    let id = number_in(&fixture.path("id")).await;
    assert!(fixture.plugin.dispose().await.is_clean());
    assert!(fixture.shell.get().is_err());
    assert!(lives(id));
    assert_eq!(job.status(), BackgroundStatus::Running);
    std::fs::write(fixture.path("go"), "").unwrap();
    assert_eq!(rest_of(&*job).await, "alive\n");
}

// spec: fs-shell-sandbox/F98, design/P1
#[tokio::test]
async fn a_background_command_ends_with_the_subprocess_service() {
    let fixture = Fixture::new().await;
    let job = fixture.start("echo before; echo $$ > id; sleep 300");
    let id = number_in(&fixture.path("id")).await;
    assert!(fixture.subprocess.dispose().await.is_clean());
    let end = job.done().await;
    assert!(end.signal.is_some() && !end.killed, "{end:?}");
    assert_eq!(job.read_output().text, "before\n");
    gone(id).await;
}

#[tokio::test]
async fn a_shell_that_is_held_longer_than_the_subprocess_service_refuses() {
    let fixture = Fixture::new().await;
    let lease = fixture.shell.get().unwrap();
    let (one, two) = (fixture.resolve(ShellRequest::new("true")), fixture.resolve(ShellRequest::new("true")));
    let _ = fixture.subprocess.dispose().await;
    let refused = lease.run(one).await.unwrap_err();
    assert!(matches!(refused, ShellError::Ended), "{refused}");
    let text = lease.start(two).read_output().text;
    assert_eq!(text, "[stderr]\nspawn failed: cannot run the command: the subprocess service has ended");
}
