//! The answer of a server without the server, for benchmarks and fuzzing.

use dsh_llm::{LlmError, StreamChunk};

use crate::answer::Answer;

/// Translates a body that comes in pieces of so many bytes, and tells what comes out of it in order.
///
/// # Errors
/// The body is not what the protocol says, tells of an error, or ends before it is over.
pub fn translated(
    body: &[u8],
    piece_bytes: usize,
    mut told: impl FnMut(StreamChunk),
) -> Result<(), LlmError> {
    let mut answer = Answer::new();
    for piece in body.chunks(piece_bytes.max(1)) {
        let fed = answer.feed(piece);
        std::iter::from_fn(|| answer.next()).for_each(&mut told);
        fed?;
    }
    let ended = answer.end();
    std::iter::from_fn(|| answer.next()).for_each(told);
    ended
}
