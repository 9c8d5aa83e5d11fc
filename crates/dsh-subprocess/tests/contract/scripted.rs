//! The double of processes that is offered to tests.

use dsh_subprocess::testing::ScriptedSubprocess;
use dsh_subprocess::{Collect, Exit, Output, SpawnSpec, Stdin, Stream, Subprocess};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::test]
async fn a_scripted_process_ends_when_it_is_told_to_and_only_once() {
    let (told, dropped) = (ScriptedSubprocess::default(), ScriptedSubprocess::default());
    let process = told.spawn(SpawnSpec::new(["serve"])).unwrap();
    assert_eq!([process.terminate(), process.terminate()], [true, false]);
    process.kill();
    assert_eq!(process.exited().await.unwrap(), Exit { code: None, signal: Some(15) });
    let process = dropped.spawn(SpawnSpec::new(["serve"])).unwrap();
    let exited = process.exited();
    drop(process);
    assert_eq!(exited.await.unwrap(), Exit { code: None, signal: Some(9) });
}

#[tokio::test]
async fn a_scripted_process_prints_as_its_starter_asked_for() {
    let scripted = ScriptedSubprocess::default();
    scripted.print(Stream::Stdout, "one ");
    scripted.print(Stream::Stdout, "two");
    scripted.print(Stream::Stderr, "12345678");
    let mut spec = SpawnSpec::new(["print"]);
    spec.stdin = Stdin::Piped;
    spec.stdout = Output::Piped;
    spec.stderr = Output::Collected(Collect::both_ends(4));
    let mut process = scripted.spawn(spec).unwrap();
    process.take_stdin().unwrap().write_all(b"read by nobody").await.unwrap();
    let mut text = String::new();
    process.take_stdout().unwrap().read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "one two");
    assert!(process.output(Stream::Stdout).is_none());
    let errors = process.output(Stream::Stderr).unwrap().text();
    assert_eq!((errors.head.as_str(), errors.dropped, errors.tail.as_str()), ("12", 4, "78"));
}
