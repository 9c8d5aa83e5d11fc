//! Who ended a command, where that is hard to tell.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use dsh_shell::{Background, BackgroundStatus, ShellError, ShellRequest};
use dsh_subprocess::WaitError;
use futures_util::FutureExt as _;

use crate::fixture::limited;
use crate::scripted::{FINE, Scripted};

fn lost() -> WaitError {
    WaitError { id: 7, source: Arc::new(io::Error::other("no child")) }
}

impl Scripted {
    fn start(&self) -> Box<dyn Background> {
        let shell = self.shell.get().unwrap();
        shell.start(shell.resolve(ShellRequest::new("x")).unwrap())
    }
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn a_command_that_ended_by_itself_was_not_killed_though_nobody_knew() {
    let scripted = Scripted::new(|| false).await;
    let job = scripted.start();
    assert!(!job.kill());
    assert_eq!(job.status(), BackgroundStatus::Running);
    scripted.end(Ok(FINE));
    let end = job.done().await;
    assert_eq!((end.exit_code, end.killed), (Some(0), false));
    assert_eq!(job.status(), BackgroundStatus::Exited);
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn how_a_command_ended_is_told_once_it_is_known_whether_it_was_killed() {
    for told in [true, false] {
        let (asked, is_asked) = mpsc::channel();
        let (answer, answered) = mpsc::channel();
        let scripted = Scripted::new(move || {
            asked.send(()).unwrap();
            answered.recv().unwrap()
        })
        .await;
        let job: Arc<dyn Background> = scripted.start().into();
        let killer = std::thread::spawn({
            let job = Arc::clone(&job);
            move || job.kill()
        });
        is_asked.recv().unwrap();
        scripted.end(Ok(FINE));
        let mut done = job.done();
        assert!((&mut done).now_or_never().is_none());
        assert_eq!(job.status(), BackgroundStatus::Running);
        assert!(!job.kill(), "somebody else does");
        answer.send(told).unwrap();
        assert_eq!(done.await.killed, told);
        assert_eq!(killer.join().unwrap(), told);
        let status = if told { BackgroundStatus::Killed } else { BackgroundStatus::Exited };
        assert_eq!(job.status(), status);
    }
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn a_command_of_which_the_system_tells_nothing_is_lost() {
    for killed in [false, true] {
        let scripted = Scripted::new(|| true).await;
        let job = scripted.start();
        assert!(!killed || job.kill());
        scripted.end(Err(lost()));
        let end = job.done().await;
        assert_eq!((end.exit_code, end.signal, end.killed), (None, None, killed));
        let lost = end.lost.unwrap();
        assert_eq!((lost.id, lost.source.to_string().as_str()), (7, "no child"));
    }
}

#[tokio::test]
async fn a_command_of_which_the_system_tells_nothing_has_no_result() {
    let scripted = Scripted::new(|| true).await;
    scripted.end(Err(lost()));
    let shell = scripted.shell.get().unwrap();
    let failed = shell.run(shell.resolve(ShellRequest::new("x")).unwrap()).await.unwrap_err();
    assert!(matches!(failed, ShellError::Wait(WaitError { id: 7, .. })), "{failed}");
}

// spec: fs-shell-sandbox/F97
#[tokio::test(start_paused = true)]
async fn a_command_was_told_to_end_if_it_had_not_ended() {
    for told in [true, false] {
        for is_cancelled in [true, false] {
            let (asked, mut is_asked) = tokio::sync::mpsc::unbounded_channel();
            let scripted = Scripted::new(move || {
                asked.send(()).unwrap();
                told
            })
            .await;
            let request = limited("x", Duration::from_secs(1));
            let cancellation = request.cancellation.clone();
            let shell = scripted.shell.get().unwrap();
            let mut running = shell.run(shell.resolve(request).unwrap());
            if is_cancelled {
                assert!((&mut running).now_or_never().is_none());
                cancellation.cancel();
            }
            let (result, ()) = tokio::join!(running, async {
                is_asked.recv().await.unwrap();
                scripted.end(Ok(FINE));
            });
            let result = result.unwrap();
            assert_eq!((result.timed_out, result.aborted), (told && !is_cancelled, told && is_cancelled));
        }
    }
}
