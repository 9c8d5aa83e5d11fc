//! Puts any pieces together: `cargo fuzz run -s none assembler` in `crates/dsh-llm`. It runs on stable.
//!
//! The input is JSON, a list of pieces; what is none says nothing.
#![no_main]

use dsh_llm::{Assembler, StreamChunk};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(chunks) = serde_json::from_slice::<Vec<StreamChunk>>(input) else { return };
    let mut assembler = Assembler::new();
    for chunk in &chunks {
        let _ = assembler.add(chunk);
    }
    assert_eq!(assembler.blocks(), assembler.blocks());
    let _ = (assembler.finish(), assembler.usage(), assembler.replay_state(), assembler.interrupted_blocks());
});
