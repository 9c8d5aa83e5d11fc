//! Reads any bytes as a log: `cargo fuzz run -s none reader` in `crates/dsh-session-jsonl`. It runs on stable.
//!
//! The first byte says whether the rest is the file of a compressed log; `tests/corpus.rs` replays what is kept.
#![no_main]

#[path = "../../tests/support/reread.rs"]
mod reread;

libfuzzer_sys::fuzz_target!(|input: &[u8]| reread::check(input));
