//! The container of a compressed log: zstd frames one after another, each whole or, the last one only, cut.

use std::io::{self, Read, Write};

pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const LEVEL: i32 = 3;

/// Where a frame ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// After so many bytes.
    Whole(usize),
    /// Beyond the bytes that are there.
    Cut,
    /// Nowhere: this is no frame.
    Invalid(&'static str),
}

/// What a frame holds.
#[derive(Debug)]
pub(crate) enum Broken {
    /// It cannot be unpacked.
    Invalid(io::Error),
    /// It holds more than is allowed.
    TooLong,
}

/// Finds the end of the frame that `bytes` starts with. Looks at lengths only.
pub(crate) fn extent(bytes: &[u8]) -> Extent {
    match bytes.get(..4) {
        // What is too short to be recognised is the beginning of a frame, whatever it is.
        None => return Extent::Cut,
        Some(magic) if magic != MAGIC => return Extent::Invalid("a zstd frame is expected"),
        Some(_) => {}
    }
    let Some(descriptor) = bytes.get(4) else { return Extent::Cut };
    if descriptor & 0b1000 != 0 {
        return Extent::Invalid("the zstd frame is of a later format");
    }
    let single_segment = descriptor & 0b10_0000 != 0;
    let window = usize::from(!single_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 0b11)];
    let content_size = match descriptor >> 6 {
        0 => usize::from(single_segment),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let checksum = if descriptor & 0b100 != 0 { 4 } else { 0 };
    let mut at = 5 + window + dictionary + content_size;
    loop {
        let Some(&[one, two, three]) = bytes.get(at..at + 3) else { return Extent::Cut };
        let header = u32::from_le_bytes([one, two, three, 0]);
        let size = (header >> 3) as usize;
        at += 3 + match (header >> 1) & 0b11 {
            0 | 2 => size,
            1 => 1,
            _ => return Extent::Invalid("a block of the zstd frame is of an unknown kind"),
        };
        if header & 1 != 0 {
            at += checksum;
            return if at <= bytes.len() { Extent::Whole(at) } else { Extent::Cut };
        }
    }
}

/// Adds what a whole frame holds to `text`, which may be `limit` bytes long in the end.
pub(crate) fn unpack(frame: &[u8], text: &mut Vec<u8>, limit: u64) -> Result<(), Broken> {
    let decoder = zstd::stream::read::Decoder::with_buffer(frame).map_err(Broken::Invalid)?.single_frame();
    read_to_limit(decoder, text, limit)
}

/// Adds what can be read of a cut frame to `text`: its whole blocks.
pub(crate) fn unpack_cut(frame: &[u8], text: &mut Vec<u8>, limit: u64) -> Result<(), Broken> {
    let Ok(decoder) = zstd::stream::read::Decoder::with_buffer(frame) else { return Ok(()) };
    match read_to_limit(decoder.single_frame(), text, limit) {
        Ok(()) | Err(Broken::Invalid(_)) => Ok(()),
        Err(Broken::TooLong) => Err(Broken::TooLong),
    }
}

/// Packs a batch into one frame.
pub(crate) fn pack(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::with_capacity(text.len() / 3 + 64), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.write_all(text)?;
    encoder.finish()
}

/// Bounded, because a few bytes may stand for any number of them.
fn read_to_limit(mut from: impl Read, text: &mut Vec<u8>, limit: u64) -> Result<(), Broken> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Broken::Invalid(error)),
        };
        if (text.len() + count) as u64 > limit {
            return Err(Broken::TooLong);
        }
        text.extend_from_slice(&buffer[..count]);
    }
}
