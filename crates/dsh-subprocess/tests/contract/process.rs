//! The process as its caller holds it.

use std::sync::Arc;

use dsh_subprocess::{Process, Stream, Subprocess};

use crate::fixture::{EXIT, Noted};

#[tokio::test]
async fn what_the_caller_asks_for_reaches_the_provider() {
    let noted = Arc::new(Noted::default());
    let process = Process::new(noted.clone(), None, None, None);
    assert_eq!(process.id(), 42);
    assert_eq!([process.terminate(), process.terminate()], [true, false]);
    process.kill();
    assert!(process.output(Stream::Stderr).is_none());
    assert_eq!(noted.counts(), [2, 1, 0]);
    assert_eq!((process.try_exited().unwrap().unwrap(), process.try_collected().is_none()), (EXIT, true));
    let exited = process.exited();
    assert_eq!(process.collected().await.unwrap(), EXIT);
    drop(process);
    assert_eq!(noted.counts(), [2, 1, 1]);
    assert_eq!(exited.await.unwrap(), EXIT, "it can be waited for without the process");
}

#[test]
fn pipes_are_taken_once() {
    let mut process = Process::new(
        Arc::new(Noted::default()),
        Some(Box::pin(tokio::io::sink())),
        Some(Box::pin(tokio::io::empty())),
        Some(Box::pin(tokio::io::empty())),
    );
    assert!(process.take_stdin().is_some() && process.take_stdin().is_none());
    assert!(process.take_stdout().is_some() && process.take_stdout().is_none());
    assert!(process.take_stderr().is_some() && process.take_stderr().is_none());
}

#[test]
fn a_process_and_who_starts_it_can_be_shared_between_threads() {
    fn shared<T: ?Sized + Send + Sync>() {}
    shared::<Process>();
    shared::<dyn Subprocess>();
}
