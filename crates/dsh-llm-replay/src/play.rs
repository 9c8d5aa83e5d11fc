//! An answer, told piece by piece.

use std::fs::File;
use std::future::pending;
use std::path::Path;
use std::time::Duration;

use dsh_llm::{ChunkSink, LlmError, ModelRequest, StreamChunk, code};

use crate::entry::Entry;
use crate::replay::Replay;

/// Tells one answer.
pub(crate) struct Player<'a> {
    out: &'a mut ChunkSink,
    pace: Duration,
    /// Whether the finish is told, or being told.
    pub(crate) is_finished: bool,
}

impl<'a> Player<'a> {
    pub(crate) fn new(out: &'a mut ChunkSink, pace: Duration) -> Self {
        Self { out, pace, is_finished: false }
    }

    /// Gives a request the next answer of its session. Cancelling drops it between two pieces.
    pub(crate) async fn play(&mut self, replay: &Replay, request: &ModelRequest) -> Result<(), LlmError> {
        match replay.next(request)? {
            Entry::Chunks { chunks } => {
                self.send_all(chunks).await;
                Ok(())
            }
            Entry::Throw { chunks, message, code } => {
                self.send_all(chunks).await;
                Err(LlmError::new(code, message))
            }
            Entry::Hang { ready_file } => {
                let start = StreamChunk::BlockStart { index: 0, block_type: "text".to_owned() };
                self.send_all(vec![start, StreamChunk::TextDelta { index: 0, text: "…".to_owned() }]).await;
                if let Some(path) = ready_file {
                    touch(&path)?;
                }
                pending().await
            }
        }
    }

    async fn send_all(&mut self, chunks: Vec<StreamChunk>) {
        for chunk in chunks {
            if !self.pace.is_zero() {
                tokio::time::sleep(self.pace).await;
            }
            self.is_finished |= matches!(chunk, StreamChunk::Finish { .. });
            self.out.send(chunk).await;
        }
    }
}

fn touch(path: &Path) -> Result<(), LlmError> {
    let touched = File::options().create(true).append(true).open(path);
    touched.map(drop).map_err(|error| {
        let message = format!("the file {} of a script cannot be made", path.display());
        LlmError::new(code::UNKNOWN, message).with_source(error)
    })
}
