//! Translates any bytes as an answer: `cargo fuzz run -s none translated` in `crates/dsh-llm-deepseek`. It runs on stable.
//!
//! The first byte says in how long pieces the rest comes; what comes of it must not depend on that.
#![no_main]

use dsh_llm::{Assembler, ContentBlock, StreamChunk};
use dsh_llm_deepseek::testing::translated;

fn came(body: &[u8], piece_bytes: usize) -> (Vec<StreamChunk>, Option<String>) {
    let mut chunks = Vec::new();
    let ended = translated(body, piece_bytes, |mut chunk| {
        // An id that is made up is another one each time.
        if let StreamChunk::BlockEnd { block: ContentBlock::ToolCall { id, .. }, .. } = &mut chunk
            && id.starts_with("call_")
        {
            id.clear();
        }
        chunks.push(chunk);
    });
    (chunks, ended.err().map(|error| error.code().to_owned()))
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((piece_bytes, body)) = input.split_first() else { return };
    let whole = came(body, usize::MAX);
    assert_eq!(whole, came(body, usize::from(*piece_bytes)), "it depends on where the bytes are cut");
    let mut assembler = Assembler::new();
    for chunk in &whole.0 {
        assembler.add(chunk).expect("only known pieces come out");
    }
    assembler.blocks().expect("only known blocks come out");
    let is_finish = |chunk: &StreamChunk| matches!(chunk, StreamChunk::Finish { .. });
    assert_eq!(whole.0.iter().filter(|chunk| is_finish(chunk)).count(), usize::from(whole.1.is_none()));
});
