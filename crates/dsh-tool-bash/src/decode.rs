//! Text of bytes that come in pieces.

/// Makes text of bytes; what is cut between two pieces waits for the second one.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The beginning of a character, at most three bytes.
    held: Vec<u8>,
}

impl Decoder {
    /// The text up to here. Bytes that are no UTF-8 become the replacement character.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
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
    pub(crate) fn finish(self) -> String {
        String::from_utf8_lossy(&self.held).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Decoder;

    fn decoded(bytes: &[u8], piece: usize) -> String {
        let mut decoder = Decoder::default();
        let mut text: String = bytes.chunks(piece).map(|piece| decoder.push(piece)).collect();
        text.push_str(&decoder.finish());
        text
    }

    #[test]
    fn text_is_the_same_however_it_was_cut() {
        for bytes in
            ["aé€😀\n".as_bytes(), b"a\xffb\xc3", b"\xf0\x9f\x98", b"\xe2\x28\xa1 \xf0\x9f\x98a", b""]
        {
            for piece in 1..=bytes.len().max(1) {
                assert_eq!(decoded(bytes, piece), String::from_utf8_lossy(bytes), "{bytes:?} by {piece}");
            }
        }
    }

    #[test]
    fn what_is_whole_does_not_wait() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push("aé".as_bytes()), "aé");
        assert_eq!(decoder.push(b"b\xe2\x82"), "b");
        assert_eq!(decoder.push(b"\xacc"), "€c");
    }
}
