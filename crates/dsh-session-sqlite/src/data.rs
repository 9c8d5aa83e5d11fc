//! The data of a row: JSON text, or the same compressed where that is smaller.

use std::borrow::Cow;

use dsh_session::Problem;
use zstd::zstd_safe;

/// Shorter texts are not worth a frame.
const COMPRESSED_FROM: usize = 4_096;

/// How hard zstd tries.
const LEVEL: i32 = 3;

/// The most that the data of one event may be. It bounds what a few hostile bytes can unfold to.
pub(crate) const MAX_EVENT_BYTES: usize = 256 * 1024 * 1024;

/// The most that the data of one packed row may be.
pub(crate) const MAX_PACKED_BYTES: usize = 1024 * 1024;

/// Data as it is stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StoredData<'a> {
    /// The JSON text.
    Text(Cow<'a, str>),
    /// One frame of zstd that holds it.
    Frame(Vec<u8>),
}

impl<'a> StoredData<'a> {
    /// How a text is stored.
    pub(crate) fn of(text: Cow<'a, str>) -> Self {
        if text.len() < COMPRESSED_FROM {
            return Self::Text(text);
        }
        match fold(text.as_bytes()) {
            Ok(frame) if frame.len() < text.len() => Self::Frame(frame),
            // Whatever cannot be compressed is stored as it is.
            Ok(_) | Err(_) => Self::Text(text),
        }
    }

    /// The text, if it is no longer than `most` bytes.
    pub(crate) fn text(&self, most: usize) -> Result<Cow<'_, str>, Problem> {
        match self {
            Self::Text(text) if text.len() > most => Err(too_long(text.len() as u64, most)),
            Self::Text(text) => Ok(Cow::Borrowed(text)),
            Self::Frame(frame) => unfold(frame, most).map(Cow::Owned),
        }
    }
}

/// With a checksum: SQLite has none of its own.
fn fold(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(text)
}

fn unfold(frame: &[u8], most: usize) -> Result<String, Problem> {
    let length = match zstd_safe::get_frame_content_size(frame) {
        Ok(Some(length)) => length,
        Ok(None) => return Err(bad("the frame does not say how long its content is")),
        Err(_) => return Err(bad("it is no frame of zstd")),
    };
    let capacity = usize::try_from(length).ok().filter(|length| *length <= most);
    let capacity = capacity.ok_or_else(|| too_long(length, most))?;
    if zstd_safe::find_frame_compressed_size(frame) != Ok(frame.len()) {
        return Err(bad("it is not exactly one frame of zstd"));
    }
    let bytes = zstd::bulk::decompress(frame, capacity).map_err(|error| bad(format!("zstd: {error}")))?;
    if bytes.len() != capacity {
        return Err(bad("the frame is not as long as it says"));
    }
    String::from_utf8(bytes).map_err(|_| bad("it is not valid UTF-8"))
}

fn too_long(length: u64, most: usize) -> Problem {
    bad(format!("it is {length} bytes long, more than {most}"))
}

fn bad(reason: impl std::fmt::Display) -> Problem {
    Problem::BadRow { reason: format!("`data`: {reason}") }
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
