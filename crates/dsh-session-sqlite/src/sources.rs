//! A list of event numbers as bytes: the first as it is, then the differences, in as few bytes as each needs.
//!
//! A number is seven bits per byte, lowest first; a set high bit says that another byte follows. A difference is folded so that
//! small negative ones are small too (0, -1, 1, -2 are 0, 1, 2, 3). There is one way to write a list: a reader refuses any
//! other.

use dsh_session::Problem;

/// The largest number that every reader of the format keeps exact.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// Enough for a folded difference of two safe numbers.
const MAX_BYTES: usize = 8;

/// Writes a list; none if a number is not safe.
pub(crate) fn encode(sources: &[u64]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(sources.len() + 8);
    let mut before = None;
    for source in sources.iter().copied() {
        if source > MAX_SAFE {
            return None;
        }
        match before {
            None => push(&mut bytes, source),
            Some(before) => push(&mut bytes, fold(source.cast_signed() - before)),
        }
        before = Some(source.cast_signed());
    }
    Some(bytes)
}

/// Reads a list.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<u64>, Problem> {
    let mut sources = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (number, after) = take(rest)?;
        rest = after;
        let source = match sources.last() {
            None => Some(number),
            Some(before) => {
                unfold(number).checked_add_unsigned(*before).and_then(|sum| u64::try_from(sum).ok())
            }
        };
        match source.filter(|source| *source <= MAX_SAFE) {
            Some(source) => sources.push(source),
            None => return Err(bad("a number is out of range")),
        }
    }
    Ok(sources)
}

fn fold(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)).cast_unsigned()
}

fn unfold(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &[u8]) -> Result<(u64, &[u8]), Problem> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().take(MAX_BYTES).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            // A last byte of nothing could be left out.
            return match *byte == 0 && at > 0 {
                true => Err(bad("a number takes more bytes than it needs")),
                false => Ok((number, &bytes[at + 1..])),
            };
        }
    }
    Err(bad(if bytes.len() < MAX_BYTES { "the last number is cut" } else { "a number is out of range" }))
}

fn bad(reason: &str) -> Problem {
    Problem::BadRow { reason: format!("`source_event_seqs`: {reason}") }
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
