//! The end of the plugin.

use cordis::State;
use dsh_jobs::JobStatus;

use crate::fixture::{Below, Fixture};
use crate::witness::{ANSWERS, Witness, bounded};

// spec: design/P1
#[tokio::test]
async fn unloading_the_plugin_ends_the_command_that_runs() {
    let fixture = Fixture::new().await;
    let mut witness = Witness::new(fixture.path());
    let command = format!("({ANSWERS}) & wait");
    let unload = async {
        assert!(witness.is_answered().await);
        assert!(fixture.plugin.dispose().await.is_clean());
    };
    let (outcome, ()) = tokio::join!(fixture.run(&command), unload);
    assert_eq!(outcome.code(), Some("ABORTED"));
    witness.is_alone().await;
    assert_eq!(fixture.run("true").await.code(), Some("UNKNOWN_TOOL"));
    fixture.app.assert_no_errors();
}

// spec: design/P1, timeout-jobs-hooks/J36
#[tokio::test]
async fn unloading_the_plugin_ends_its_jobs_and_waits_for_them() {
    let mut below = Below::default();
    below.shell.grace_ms = 300;
    let fixture = Fixture::on(below, |config| config).await;
    let mut witness = Witness::new(fixture.path());
    // Two of them, one of which does not end when it is told to.
    let command = format!("trap '' TERM; echo on; ({ANSWERS}) & wait; while :; do sleep 0.05; done");
    let deaf = fixture.start(&command).await;
    let polite = fixture.start("echo on; sleep 300").await;
    assert!(witness.is_answered().await);
    fixture.printed(&polite, |said| said == "on\n").await;
    let disposed = bounded(fixture.plugin.dispose()).await;
    assert!(disposed.is_clean(), "{disposed:?}");
    for id in [&deaf, &polite] {
        let job = fixture.jobs(|jobs| jobs.get(id, None)).unwrap();
        assert_eq!(job.status, JobStatus::Killed, "{job:?}");
    }
    witness.is_alone().await;
}

// spec: design/P1
#[tokio::test]
async fn unloading_the_shell_ends_what_runs_and_takes_the_tool_along() {
    let fixture = Fixture::new().await;
    let mut witness = Witness::new(fixture.path());
    fixture.start(&format!("({ANSWERS}) & wait")).await;
    assert!(witness.is_answered().await);
    let disposed = bounded(fixture.shell.dispose()).await;
    assert!(disposed.is_clean(), "{disposed:?}");
    witness.is_alone().await;
    assert_eq!(fixture.plugin.state(), State::Pending);
    assert_eq!(fixture.run("true").await.code(), Some("UNKNOWN_TOOL"));
}
