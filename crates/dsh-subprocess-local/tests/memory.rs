//! How much memory long output takes. Alone in its program, whose memory is measured.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::fs;

use cordis::testing::TestApp;
use dsh_subprocess::{Collect, Output, SUBPROCESS, SpawnSpec, Spill, Stream};
use dsh_subprocess_local::Config;

const KEPT_BYTES: usize = 64_000;
/// Far more than what is kept, and far less than what is printed.
const BOUND_KB: u64 = 32 * 1024;

/// The most memory that the program has used so far.
fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

// spec: cases/P5
#[tokio::test]
async fn two_gigabytes_are_collected_in_bounded_memory() {
    let app = TestApp::new();
    app.plugin(dsh_subprocess_local::plugin(), Config::default()).unwrap().ready().await.unwrap();
    let subprocess = app.get(SUBPROCESS).unwrap();
    let mut spec = SpawnSpec::new(["bash", "-c", "printf first; head -c 2G /dev/zero; printf last"]);
    let collect = Collect { spill_max_bytes: Some(16 << 20), ..Collect::both_ends(KEPT_BYTES) };
    spec.stdout = Output::Collected(collect);
    let before = peak_kb();
    let process = subprocess.get().unwrap().spawn(spec).unwrap();
    let exit = process.collected().await.unwrap();
    assert_eq!(exit.code, Some(0));
    let kept = process.output(Stream::Stdout).unwrap();
    let text = kept.text();
    assert_eq!(text.dropped + (text.head.len() + text.tail.len()) as u64, (2 << 30) + 9);
    assert_eq!((text.head.len(), text.tail.len()), (KEPT_BYTES / 2, KEPT_BYTES / 2));
    assert!(text.head.starts_with("first") && text.tail.ends_with("last"));
    assert_eq!(kept.spill(), Spill::TooLong);
    let used = peak_kb() - before;
    assert!(used < BOUND_KB, "{used} kB");
}
