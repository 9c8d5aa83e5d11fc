//! Text of bytes that come in pieces.

/// Makes text of bytes; what is cut between two pieces waits for the second one.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a character, at most three bytes.
    held: Vec<u8>,
}

impl Decoder {
    /// The text up to here. Bytes that are no UTF-8 become the replacement character.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        // Most pieces are whole text: one look and one copy.
        if self.held.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return text.to_owned();
        }
        self.held.extend_from_slice(bytes);
        let mut text = String::new();
        let mut whole = 0;
        for chunk in self.held.utf8_chunks() {
            text.push_str(chunk.valid());
            whole += chunk.valid().len();
            let invalid = chunk.invalid();
            let cut = whole + invalid.len() == self.held.len()
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if cut {
                break;
            }
            if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                whole += invalid.len();
            }
        }
        self.held.drain(..whole);
        text
    }

    /// What was still waiting, which nothing completes any more.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.held).into_owned()
    }
}
