//! The parser: one pass over the text, in which everything is refused that two readers could read in two ways.
//!
//! serde_json hands an exact number over as an object with a key of its own, which a visitor cannot tell from an object in
//! the text. So this parser makes the values itself.

use serde_json::{Map, Number, Value};

use super::{ArgumentsError, MAX_DEPTH};
use crate::schema::number;

/// serde_json marks its own exact numbers and raw texts with these keys; as data they would be read in two ways.
const RESERVED_PREFIX: &str = "$serde_json::private::";

/// How much of a refused number is shown.
const SHOWN_BYTES: usize = 40;

/// For how many members of an object room is made at most before they are read.
const EXPECTED_MEMBERS: usize = 16;

/// The value of a whole text.
pub(super) fn parse(text: &str) -> Result<Value, ArgumentsError> {
    let mut parser = Parser { text, at: 0, depth: 0, members: 0 };
    let value = parser.value()?;
    match parser.token() {
        None => Ok(value),
        Some(_) => Err(parser.expected("the end of the text")),
    }
}

struct Parser<'t> {
    text: &'t str,
    /// Always a boundary of a character.
    at: usize,
    depth: usize,
    /// How many members the last object had: those of one list are alike.
    members: usize,
}

impl<'t> Parser<'t> {
    fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// The next byte that is not white space, not yet taken.
    fn token(&mut self) -> Option<u8> {
        while let Some(byte) = self.peek() {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.token() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expected(&self, what: &str) -> ArgumentsError {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let found = if self.at >= self.text.len() { "but the text ends" } else { "but found something else" };
        ArgumentsError::NotJson { reason: format!("expected {what} at line {line} column {column}, {found}") }
    }

    fn value(&mut self) -> Result<Value, ArgumentsError> {
        match self.token() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.expected("a value")),
        }
    }

    /// Enters an object or an array; the only recursion, and bounded.
    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, ArgumentsError>,
    ) -> Result<Value, ArgumentsError> {
        if self.depth == MAX_DEPTH {
            return Err(ArgumentsError::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, ArgumentsError> {
        if self.take(b'}') {
            return Ok(Value::Object(Map::new()));
        }
        let mut members = Map::with_capacity(self.members.min(EXPECTED_MEMBERS));
        loop {
            if self.token() != Some(b'"') {
                return Err(self.expected("a key in double quotes"));
            }
            let key_at = self.at;
            let key = self.string()?;
            if key.starts_with(RESERVED_PREFIX) {
                return Err(ArgumentsError::ReservedKey { key });
            }
            if !self.take(b':') {
                return Err(self.expected("`:`"));
            }
            let value = self.value()?;
            if members.insert(key, value).is_some() {
                self.at = key_at;
                return Err(ArgumentsError::DuplicateKey { key: self.string()? });
            }
            if self.take(b',') {
                continue;
            }
            if self.take(b'}') {
                self.members = members.len();
                return Ok(Value::Object(members));
            }
            return Err(self.expected("`,` or `}`"));
        }
    }

    fn array(&mut self) -> Result<Value, ArgumentsError> {
        if self.take(b']') {
            return Ok(Value::Array(Vec::new()));
        }
        let mut items = Vec::new();
        loop {
            items.push(self.value()?);
            if self.take(b',') {
                continue;
            }
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            return Err(self.expected("`,` or `]`"));
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, ArgumentsError> {
        if !self.bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, ArgumentsError> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        let lossy = || ArgumentsError::LossyNumber { number: shorten(text) };
        if !number::is_exact(text) {
            return Err(lossy());
        }
        // What is a plain integer needs no second parser.
        match text.parse::<i64>() {
            Ok(whole) => Ok(Number::from(whole)),
            Err(_) => text.parse().map_err(|_| lossy()),
        }
    }

    fn digits(&mut self) -> Result<(), ArgumentsError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, ArgumentsError> {
        self.at += 1;
        let plain = self.plain();
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                Ok(plain.to_owned())
            }
            Some(b'\\') => self.escaped(plain.to_owned()),
            _ => Err(self.expected("the rest of a string, control characters escaped")),
        }
    }

    /// The characters up to the next quote, backslash or control character.
    fn plain(&mut self) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        let plain =
            rest.as_bytes().iter().position(ends).map_or(rest, |end| rest.get(..end).unwrap_or_default());
        self.at += plain.len();
        plain
    }

    /// Goes on from the first escape of a string.
    fn escaped(&mut self, mut string: String) -> Result<String, ArgumentsError> {
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => {
                    let character = self.escape()?;
                    string.push(character);
                }
                _ => return Err(self.expected("the rest of a string, control characters escaped")),
            }
            string.push_str(self.plain());
        }
    }

    fn escape(&mut self) -> Result<char, ArgumentsError> {
        let Some(kind) = self.bytes().get(self.at + 1) else {
            self.at = self.text.len();
            return Err(self.expected("the rest of an escape"));
        };
        let character = match kind {
            b'"' | b'\\' | b'/' => char::from(*kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.expected("an escape that JSON knows")),
        };
        self.at += 2;
        Ok(character)
    }

    /// `\uXXXX`, or two of them that are one character.
    fn unicode(&mut self) -> Result<char, ArgumentsError> {
        let Some(first) = self.hex(self.at) else {
            return Err(self.expected("four hexadecimal digits after `\\u`"));
        };
        if let Some(character) = char::from_u32(first) {
            self.at += 6;
            return Ok(character);
        }
        let second = self.hex(self.at + 6).filter(|second| (0xdc00..0xe000).contains(second));
        match second {
            Some(second) if first < 0xdc00 => {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                self.at += 12;
                char::from_u32(code).ok_or_else(|| self.expected("a character"))
            }
            _ => Err(self.expected("both halves of a surrogate pair")),
        }
    }

    /// The code of the `\uXXXX` at a place.
    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        // `from_str_radix` would take a sign.
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    }
}

fn shorten(text: &str) -> String {
    match text.get(..SHOWN_BYTES) {
        Some(start) if text.len() > SHOWN_BYTES => format!("{start}…"),
        _ => text.to_owned(),
    }
}
