//! Inputs of the fuzzer that are kept, and mutations of them: the reader never panics, and reads what it has read again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

#[path = "support/reread.rs"]
mod reread;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/reader");
    let inputs: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() >= 10, "the corpus is there");
    inputs
}

// spec: session/S96, S97
#[test]
fn every_input_that_is_kept_is_read_without_a_panic() {
    for input in corpus() {
        reread::check(&input);
    }
}

// spec: session/S96, S97
#[test]
fn every_beginning_of_an_input_is_read_without_a_panic() {
    for input in corpus() {
        for length in 0..input.len().min(400) {
            reread::check(&input[..length]);
        }
    }
}

proptest! {
    // spec: session/S96, S97
    #[test]
    fn an_input_with_changed_bytes_is_read_without_a_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let corpus = corpus();
        let mut input = corpus[which.index(corpus.len())].clone();
        for (at, byte) in changes {
            let at = at.index(input.len());
            input[at] = byte;
        }
        reread::check(&input);
    }
}
