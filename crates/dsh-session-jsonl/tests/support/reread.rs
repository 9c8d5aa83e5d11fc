//! What holds for the reader, whatever the bytes are.

use dsh_session_jsonl::{Compression, Decoded, decode};

const LIMIT_BYTES: u64 = 1 << 20;

/// Reads the input, whose first byte says how it is packed, and what it makes of it once more.
///
/// # Panics
/// The reader gave something that is no log, or reads its own reading in another way.
pub(crate) fn check(input: &[u8]) {
    let Some((first, file)) = input.split_first() else { return };
    let compression = if first % 2 == 0 { Compression::None } else { Compression::Zstd };
    let Ok(Decoded { header, events, torn }) = decode("fuzz", "fuzz", file, compression, LIMIT_BYTES) else {
        return;
    };
    for (seq, event) in (0..).zip(&events) {
        assert_eq!(event.seq(), seq, "numbers are places");
    }
    if let Some(torn) = &torn {
        assert!(torn.cut_bytes <= file.len() as u64, "cut within the file");
        // What is left after the cut is a log, of the events that were not kept apart.
        if torn.cut_bytes > 0 {
            let sound = &file[..usize::try_from(torn.cut_bytes).unwrap_or(usize::MAX)];
            let again = decode("fuzz", "fuzz", sound, compression, LIMIT_BYTES);
            let Ok(again) = again else { panic!("what is left after a cut is no log: {again:?}") };
            assert_eq!(again.torn, None, "nothing is torn after a cut");
            assert!(events.to_vec().starts_with(&again.events.to_vec()), "a cut changes nothing before it");
        }
    }
    let Ok(line) = header.to_line() else { panic!("a header that cannot be written was read") };
    let mut text = line + "\n";
    for event in &events {
        text.push_str(&event.to_line());
        text.push('\n');
    }
    // What is written may be longer than what was read: packed rows are unpacked.
    let again = decode("fuzz", "fuzz", text.as_bytes(), Compression::None, u64::MAX);
    let Ok(again) = again else { panic!("what was read and written is not read again: {again:?}\n{text}") };
    assert_eq!((again.header, again.torn), (header, None));
    assert_eq!(again.events, events, "what was read and written is read as the same");
}
