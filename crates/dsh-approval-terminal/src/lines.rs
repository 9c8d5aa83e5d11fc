//! Lines out of bytes.

use std::io;

use crate::input::Input;

/// How long a line may be; no answer is as long.
const MAX_LINE: usize = 1024;
const CHUNK: usize = 256;

pub(crate) struct Lines {
    input: Box<dyn Input>,
    buffer: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(input: Box<dyn Input>) -> Self {
        Self { input, buffer: Vec::new() }
    }

    /// Throws away what was typed so far.
    pub(crate) fn discard(&mut self) -> io::Result<()> {
        self.buffer.clear();
        self.input.discard()
    }

    /// Waits for the next line and gives it without its end, or empty if it is too long to be looked at; none at the end
    /// of the input, which ends no line.
    pub(crate) fn next(&mut self) -> io::Result<Option<String>> {
        let mut too_long = false;
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer.drain(..=end);
                // Its beginning alone could say something else than all of it.
                return Ok(Some(if too_long { String::new() } else { line }));
            }
            if self.buffer.len() > MAX_LINE {
                too_long = true;
                self.buffer.clear();
            }
            let mut chunk = [0; CHUNK];
            match self.input.read(&mut chunk) {
                Ok(0) => {
                    self.buffer.clear();
                    return Ok(None);
                }
                Ok(read) => self.buffer.extend_from_slice(chunk.get(..read).unwrap_or(&chunk)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
