//! Whether a JSON object that comes in pieces is whole.

/// How far an object has come. Only its brackets and strings are looked at.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    depth: u64,
    begun: bool,
    in_string: bool,
    escaped: bool,
}

impl Whole {
    /// The next piece.
    pub(crate) fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            match (self.in_string, byte) {
                (true, _) if self.escaped => self.escaped = false,
                (true, b'\\') => self.escaped = true,
                (_, b'"') => self.in_string = !self.in_string,
                (false, b'{' | b'[') => {
                    self.begun = true;
                    self.depth += 1;
                }
                (false, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
                (true | false, _) => {}
            }
        }
    }

    /// Whether every bracket is closed, and there was one.
    pub(crate) fn is_whole(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::Whole;

    #[test]
    fn an_object_is_whole_when_its_brackets_are_closed() {
        let is_whole = |text: &str| {
            let mut whole = Whole::default();
            text.chars().for_each(|char| whole.push(char.encode_utf8(&mut [0; 4])));
            whole.is_whole()
        };
        for text in ["{}", r#"{"a":[1,{"b":"}"}]}"#, r#"{"a":"\\"}"#, r#"{"a":"\""}"#] {
            assert!(is_whole(text), "{text}");
        }
        for text in ["", "{", r#"{"a":"}"#, r#"{"a":"\"}"#, "[{}", "5"] {
            assert!(!is_whole(text), "{text}");
        }
    }
}
