//! What is kept of what a process prints.

use dsh_subprocess::{Collect, Cut, Delta, Output, Stream};

use crate::fixture::{Fixture, KEPT_BYTES, bounded, code, printed, signal, stdout, until};

// spec: cases/P5
#[tokio::test]
async fn endless_output_is_bounded_and_can_be_ended() {
    let fixture = Fixture::new().await;
    let process = fixture.spawn(fixture.bash("yes"));
    until(|| (stdout(&process).dropped > 1_000_000).then_some(())).await;
    process.terminate();
    assert_eq!(bounded(process.collected()).await.unwrap(), signal(15));
    let Cut { head, dropped, tail } = stdout(&process);
    assert!(head.starts_with("y\ny\n") && tail.ends_with('\n') || tail.ends_with('y'));
    assert_eq!((head.len(), tail.len()), (KEPT_BYTES / 2, KEPT_BYTES / 2));
    assert!(dropped > 1_000_000);
}

// spec: cases/P5, fs-shell-sandbox/F92
#[tokio::test]
async fn of_long_output_both_ends_are_kept_to_the_byte() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash("printf first; head -c 20M /dev/zero; printf last");
    spec.stdout = Output::Collected(Collect { head_bytes: 5, tail_bytes: 4, ..Collect::default() });
    let process = fixture.spawn(spec);
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    let expected = Cut { head: "first".into(), dropped: 20 << 20, tail: "last".into() };
    assert_eq!(stdout(&process), expected);
}

// spec: fs-shell-sandbox/F92
#[tokio::test]
async fn what_is_read_by_offset_says_what_is_missing() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash("printf 0123456789; read -r _; printf abcdefghij");
    spec.stdin = dsh_subprocess::Stdin::Piped;
    spec.stdout = Output::Collected(Collect { tail_bytes: 10, ..Collect::default() });
    let mut process = fixture.spawn(spec);
    printed(&process, |text| text == "0123456789").await;
    let kept = process.output(Stream::Stdout).unwrap();
    let first = kept.read(0);
    assert_eq!(first, Delta { head: vec![], dropped: 0, tail: b"0123456789".to_vec(), next: 10 });
    drop(process.take_stdin());
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    assert_eq!(
        kept.read(first.next),
        Delta { head: vec![], dropped: 0, tail: b"abcdefghij".to_vec(), next: 20 }
    );
    assert_eq!(kept.read(4), Delta { head: vec![], dropped: 6, tail: b"abcdefghij".to_vec(), next: 20 });
}
