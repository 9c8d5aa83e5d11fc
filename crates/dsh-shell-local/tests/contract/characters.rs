//! Characters of one to four bytes, wherever streams are cut.

use dsh_shell::ShellRequest;
use dsh_shell_local::Config;
use dsh_subprocess::Stdin;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::fixture::{Fixture, told, until};

fn text(max_chars: usize) -> impl Strategy<Value = String> {
    let char = prop_oneof![
        prop::char::range('a', 'z'),
        prop::char::range('à', 'ÿ'),
        prop::char::range('一', '鿿'),
        prop::char::range('😀', '😿'),
    ];
    prop::collection::vec(char, 0..max_chars).prop_map(String::from_iter)
}

fn keeping(max_output_bytes: usize) -> Config {
    Config { max_output_bytes, ..Config::default() }
}

fn printing(text: &str) -> ShellRequest {
    ShellRequest { stdin: Stdin::Bytes(text.into()), ..ShellRequest::new("cat") }
}

// spec: cases/P6
#[tokio::test]
async fn output_is_whole_characters_wherever_the_limit_cuts_it() {
    let text = "aé€😀".repeat(3);
    for limit in 1..=text.len() {
        let fixture = Fixture::with(keeping(limit)).await;
        let cut = fixture.run(printing(&text)).await.stdout.cut;
        assert!(text.starts_with(&cut.head) && text.ends_with(&cut.tail), "{limit}: {cut:?}");
        assert_eq!(cut.head.len() + cut.dropped as usize + cut.tail.len(), text.len(), "{limit}");
        assert_eq!(cut.is_truncated(), limit < text.len());
        fixture.app.shutdown().await;
    }
}

// spec: cases/P6
#[tokio::test]
async fn whatever_is_printed_and_kept_head_tail_and_what_is_dropped_add_up() {
    let mut cases = TestRunner::deterministic();
    for _ in 0..40 {
        let (text, limit) = sample(&mut cases, (text(120), 1_usize..200));
        let fixture = Fixture::with(keeping(limit)).await;
        let (request, live) = told(printing(&text));
        let cut = fixture.run(request).await.stdout.cut;
        assert!(text.starts_with(&cut.head) && text.ends_with(&cut.tail), "{limit} of {text}: {cut:?}");
        assert_eq!(cut.head.len() + cut.dropped as usize + cut.tail.len(), text.len());
        assert_eq!(*live.lock(), text);
        fixture.app.shutdown().await;
    }
}

// spec: cases/P6, fs-shell-sandbox/F98
#[tokio::test]
async fn what_is_read_in_pieces_is_whole_characters_and_adds_up() {
    let mut cases = TestRunner::deterministic();
    for round in 0..25 {
        let (text, piece, limit) = sample(&mut cases, (text(30), 1_usize..7, 1_usize..60));
        let fixture = Fixture::with(keeping(limit)).await;
        // Printed in pieces that cut characters; the next one comes when the last one was looked at.
        std::fs::write(fixture.path("text"), &text).unwrap();
        let command = format!(
            "mkfifo go; exec 3<>go; n=0; while IFS= read -r -n1 -d '' -u3 _; do \
             dd if=text bs={piece} skip=$n count=1 status=none; n=$((n+1)); echo $n > printed.new; \
             mv printed.new printed; done"
        );
        let job = fixture.start(&command);
        until("it waits", || fixture.path("go").exists()).await;
        let (mut read, mut dropped, mut lost) = (String::new(), 0, false);
        for turn in 1..=text.len().div_ceil(piece) {
            std::fs::OpenOptions::new()
                .write(true)
                .open(fixture.path("go"))
                .map(|mut go| std::io::Write::write_all(&mut go, b"."))
                .unwrap()
                .unwrap();
            let printed = || std::fs::read_to_string(fixture.path("printed")).unwrap_or_default();
            until("a piece is printed", || printed() == format!("{turn}\n")).await;
            // Every third time nobody looks.
            if (turn + round) % 3 > 0 {
                let output = job.read_output();
                lost |= output.dropped > 0;
                dropped += output.dropped;
                read.push_str(&output.text);
            }
        }
        assert!(job.kill());
        job.done().await;
        let output = job.read_output();
        dropped += output.dropped;
        read.push_str(&output.text);
        assert_eq!(read.len() + dropped as usize, text.len(), "{text} by {piece} in {limit}: {read}");
        if !lost && output.dropped == 0 {
            assert_eq!(read, text);
        }
        assert_eq!(job.read_output().text, "");
        fixture.app.shutdown().await;
    }
}

fn sample<S: Strategy>(cases: &mut TestRunner, strategy: S) -> S::Value {
    strategy.new_tree(cases).unwrap().current()
}
