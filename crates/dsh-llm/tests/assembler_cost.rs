//! What a piece of an answer costs its assembler.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::time::{Duration, Instant};

use dsh_llm::{Assembler, StreamChunk};

#[test]
fn a_piece_costs_the_same_however_many_blocks_there_are() {
    const BLOCKS: u64 = 100_000;
    let begun = Instant::now();
    let mut assembler = Assembler::new();
    for index in 0..BLOCKS {
        assembler.add(&StreamChunk::TextDelta { index, text: "x".into() }).unwrap();
    }
    assert_eq!(assembler.blocks().unwrap().len(), BLOCKS as usize);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
