//! What a process reads, and who gets what it writes.

use std::sync::Arc;

use dsh_subprocess::{Collect, Output, Stdin, Stream};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{Fixture, bounded, code, stdout};

// spec: fs-shell-sandbox/F92
#[tokio::test]
async fn a_process_without_input_is_at_its_end_at_once() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.run("cat; echo done").await, (code(0), "done\n".to_owned()));
}

#[tokio::test]
async fn a_process_reads_the_bytes_that_it_was_given_and_then_the_end() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash("wc -c");
    spec.stdin = Stdin::Bytes(vec![b'x'; 1_000_000]);
    let process = fixture.spawn(spec);
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    assert_eq!(stdout(&process).head.trim(), "1000000");
}

// spec: fs-shell-sandbox/F92
#[tokio::test]
async fn a_process_that_does_not_read_its_input_loses_nothing() {
    let fixture = Fixture::new().await;
    for script in ["exec <&-; echo done", "head -c 1 >/dev/null; echo done"] {
        let mut spec = fixture.bash(script);
        spec.stdin = Stdin::Bytes(vec![b'x'; 1_000_000]);
        let process = fixture.spawn(spec);
        assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
        assert_eq!(stdout(&process).head, "done\n");
    }
    fixture.unload().await;
}

#[tokio::test]
async fn pipes_are_handed_out_once() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash("while read -r line; do echo \"<$line>\"; echo \"[$line]\" >&2; done");
    (spec.stdin, spec.stdout, spec.stderr) = (Stdin::Piped, Output::Piped, Output::Piped);
    let mut process = fixture.spawn(spec);
    let mut input = process.take_stdin().unwrap();
    let (mut output, mut errors) = (process.take_stdout().unwrap(), process.take_stderr().unwrap());
    assert!(process.take_stdin().is_none() && process.take_stdout().is_none());
    assert!(process.take_stderr().is_none() && process.output(Stream::Stdout).is_none());
    let talk = async {
        let mut answer = [0; 4];
        for line in ["1", "2"] {
            input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            output.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, format!("<{line}>\n").as_bytes());
            errors.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, format!("[{line}]\n").as_bytes());
        }
        drop(input);
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"");
    };
    bounded(talk).await;
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
}

#[tokio::test]
async fn every_piece_is_told_in_order() {
    let fixture = Fixture::new().await;
    let told: Arc<Mutex<Vec<u8>>> = Arc::default();
    let watched = Arc::clone(&told);
    let mut spec = fixture.bash("seq 1 50000");
    let watch = Some(Box::new(move |piece: &[u8]| watched.lock().extend_from_slice(piece)) as _);
    spec.stdout = Output::Collected(Collect { watch, ..Collect::both_ends(100) });
    let process = fixture.spawn(spec);
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    let expected: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(String::from_utf8(told.lock().clone()).unwrap(), expected);
    assert_eq!(Arc::strong_count(&told), 1, "what watched is dropped with the stream");
}

// spec: design/P4
#[tokio::test]
async fn one_who_panics_while_it_watches_loses_nothing_of_the_output() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash("echo one; sleep 0.05; echo two");
    let watch = Some(Box::new(|_: &[u8]| -> () { panic!("as it should") }) as _);
    spec.stdout = Output::Collected(Collect { watch, ..Collect::both_ends(100) });
    let process = fixture.spawn(spec);
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    assert_eq!(stdout(&process).head, "one\ntwo\n");
}
