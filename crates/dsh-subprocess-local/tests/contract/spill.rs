//! The file with all of a long stream.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use dsh_subprocess::{Collect, Output, Process, Spill};
use dsh_subprocess_local::Config;

use crate::fixture::{Fixture, bounded, code, signal, spill, stdout, until};

const MAX_BYTES: u64 = 100_000;

/// Ten bytes of both ends, and a file.
fn start(fixture: &Fixture, script: &str) -> Process {
    let mut spec = fixture.bash(script);
    let collect = Collect { spill_max_bytes: Some(MAX_BYTES), ..Collect::both_ends(20) };
    spec.stdout = Output::Collected(collect);
    fixture.spawn(spec)
}

async fn with_root() -> (Fixture, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    let config = Config { spill_root: Some(root.path().to_owned()), ..Config::default() };
    (Fixture::with(config).await, root)
}

fn file(process: &Process) -> PathBuf {
    match spill(process) {
        Spill::File(path) => path,
        other => panic!("{other:?}"),
    }
}

// spec: fs-shell-sandbox/F92
#[tokio::test]
async fn all_of_a_stream_is_in_a_file_that_only_the_user_can_read() {
    let (fixture, root) = with_root().await;
    let process = start(&fixture, "seq 1 10000");
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    let path = file(&process);
    let expected: String = (1..=10_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(path.parent().unwrap().parent(), Some(root.path()));
    drop(process);
    assert!(path.exists(), "it can be read as long as the provider is there");
    fixture.unload().await;
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn files_that_are_to_be_kept_outlast_the_provider() {
    let root = tempfile::tempdir().unwrap();
    let config =
        Config { spill_root: Some(root.path().to_owned()), keep_spill_files: true, ..Config::default() };
    let fixture = Fixture::with(config).await;
    let process = start(&fixture, "seq 1 10000");
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    let path = file(&process);
    drop(process);
    fixture.unload().await;
    assert_eq!(fs::metadata(&path).unwrap().len(), 48_894);
}

#[tokio::test]
async fn what_is_kept_whole_needs_no_file() {
    let (fixture, root) = with_root().await;
    let process = start(&fixture, "printf 12345678901234567890");
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    assert_eq!((spill(&process), stdout(&process).dropped), (Spill::None, 0));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    let process = start(&fixture, "printf 12345678901234567890; sleep 0.05; printf 1");
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    assert_eq!(fs::read_to_string(file(&process)).unwrap(), "123456789012345678901");
}

// spec: fs-shell-sandbox/F92
#[tokio::test]
async fn a_stream_that_is_longer_than_a_file_may_be_has_none() {
    let (fixture, root) = with_root().await;
    let process = start(&fixture, &format!("head -c {MAX_BYTES} /dev/zero"));
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    let whole = file(&process);
    assert_eq!(fs::metadata(&whole).unwrap().len(), MAX_BYTES);
    let process = start(&fixture, &format!("head -c {} /dev/zero", MAX_BYTES + 1));
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    assert_eq!((spill(&process), stdout(&process).dropped), (Spill::TooLong, MAX_BYTES + 1 - 20));
    let files = fs::read_dir(whole.parent().unwrap()).unwrap().count();
    assert_eq!((files, fs::read_dir(root.path()).unwrap().count()), (1, 1));
}

// spec: design/P4
#[tokio::test]
async fn a_file_that_cannot_be_written_costs_neither_the_process_nor_what_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let config = Config { spill_root: Some(root.path().join("missing")), ..Config::default() };
    let fixture = Fixture::with(config).await;
    let process = start(&fixture, "seq 1 10000; exit 8");
    assert_eq!(bounded(process.collected()).await.unwrap(), code(8));
    assert_eq!((spill(&process), stdout(&process).tail.as_str()), (Spill::Failed, "999\n10000\n"));
    fixture.unload().await;
}

#[tokio::test]
async fn an_endless_stream_fills_no_disk() {
    let (fixture, root) = with_root().await;
    let process = start(&fixture, "yes");
    until(|| (spill(&process) == Spill::TooLong).then_some(())).await;
    process.terminate();
    assert_eq!(bounded(process.collected()).await.unwrap(), signal(15));
    let folder = fs::read_dir(root.path()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[tokio::test]
async fn all_files_together_take_no_more_than_they_may_and_the_oldest_go_first() {
    let root = tempfile::tempdir().unwrap();
    let config = Config {
        spill_root: Some(root.path().to_owned()),
        max_spill_total_bytes: 25_000,
        ..Config::default()
    };
    let fixture = Fixture::with(config).await;
    let mut done = Vec::new();
    for _ in 0..3 {
        let process = start(&fixture, "head -c 10000 /dev/zero");
        assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
        done.push((file(&process), process));
    }
    let [(oldest, first), (_, second), (_, third)] = &done[..] else { panic!() };
    assert_eq!((spill(first), oldest.exists()), (Spill::NoRoom, false));
    assert!(file(second).exists() && file(third).exists());
    // What is still written stays, and what has no room beside it has no file.
    let process = start(&fixture, "head -c 20000 /dev/zero; exec sleep 300");
    let bytes = until(|| match spill(&process) {
        Spill::File(path) => fs::metadata(&path).ok().map(|file| file.len()).filter(|bytes| *bytes == 20_000),
        _ => None,
    });
    assert_eq!(bytes.await, 20_000);
    assert_eq!((spill(second), spill(third)), (Spill::NoRoom, Spill::NoRoom));
    let none = start(&fixture, "head -c 6000 /dev/zero");
    assert_eq!(bounded(none.collected()).await.unwrap(), code(0));
    assert_eq!((spill(&none), stdout(&none).dropped), (Spill::NoRoom, 6_000 - 20));
    let folder = file(&process).parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    process.kill();
    bounded(process.collected()).await.unwrap();
    assert!(file(&process).exists(), "all that it printed is there");
    fixture.unload().await;
}
