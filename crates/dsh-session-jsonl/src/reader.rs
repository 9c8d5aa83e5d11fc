//! From the bytes of a file to events, and what of its end is not part of the log.

use std::borrow::Cow;

use dsh_session::{Events, SessionHeader, SessionLog, StorageError};

use crate::config::Compression;
use crate::frames::{self, Broken, Extent};
use crate::legacy;

/// A log that was read from its file.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// Who the session is.
    pub header: SessionHeader,
    /// What is sound of the log; the event at index `n` has the number `n`.
    pub events: Events,
    /// What is wrong with the file's end, if anything is.
    pub torn: Option<Torn>,
}

/// The end of a file that was cut while it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// What is wrong, for people.
    pub why: String,
    /// Where the sound part of the file ends, in bytes.
    pub cut_bytes: u64,
    /// Whole lines that were behind it, in a frame that was cut: part of the log, to be written again.
    pub kept: Vec<u8>,
}

/// Which log is being read, for errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) id: &'a str,
    pub(crate) path: &'a str,
}

/// Reads the log of the session `id` from the bytes of its file, the name of which is only used in errors. The text of it
/// may be `max_bytes` long.
///
/// # Errors
/// The log is damaged before its end, too long, of an unknown version, or with an event that this build does not know.
pub fn decode(
    id: &str,
    path: &str,
    bytes: &[u8],
    compression: Compression,
    max_bytes: u64,
) -> Result<Decoded, StorageError> {
    let source = Source { id, path };
    let text = Text::of(source, bytes, compression, max_bytes)?;
    // Without its newline a header may be the beginning of another one.
    if !text.bytes.contains(&b'\n') {
        return Err(source.corrupt("it has no whole header"));
    }
    let readable = String::from_utf8_lossy(&text.bytes);
    let current = legacy::current(&readable);
    let whole = match text.whole {
        0 => 0,
        whole if *current.text.as_bytes() == *text.bytes => whole,
        whole => start_of_line(current.text.as_bytes(), count_lines(&text.bytes[..whole]) + 1),
    };
    let read = SessionLog::parse_framed(current.text.as_bytes(), whole);
    // What comes behind the first problem is not looked at, so it is not that what is malformed.
    let end = match &read {
        Ok(log) => log.torn.as_ref().map_or(usize::MAX, |torn| torn.line),
        Err(error) => error.line + 1,
    };
    if let Some(malformed) = current.malformed.filter(|malformed| malformed.line < end) {
        return Err(source.corrupt(format!("line {}: {}", malformed.line, malformed.what)));
    }
    let log = read.map_err(|error| source.problem(error.line, &error.problem))?;
    let torn = text.torn(log.torn.as_ref().map(|torn| (torn.line, torn.problem.to_string())));
    Ok(Decoded { header: log.header, events: log.events, torn })
}

/// The text of a log's file, as it is.
#[derive(Clone, Debug)]
pub struct Unpacked<'b> {
    /// The text; what is cut at its end included.
    pub text: Cow<'b, [u8]>,
    /// How many bytes of it cannot have been cut.
    pub whole: usize,
    /// Where in the file a frame begins that was cut while it was written, in bytes.
    pub cut_frame: Option<usize>,
}

/// The text of a log's file, compressed or not, for those who look at it line by line. It may be `max_bytes` long.
///
/// # Errors
/// A frame is damaged, or the text is too long.
pub fn unpack<'b>(path: &str, bytes: &'b [u8], max_bytes: u64) -> Result<Unpacked<'b>, StorageError> {
    let compression = if bytes.starts_with(&frames::MAGIC) { Compression::Zstd } else { Compression::None };
    let text = Text::of(Source { id: "", path }, bytes, compression, max_bytes)?;
    Ok(Unpacked { text: text.bytes, whole: text.whole, cut_frame: text.cut })
}

/// The log's text without what is cut off at its end; what cannot be read of it stays.
pub(crate) fn raw_text(
    source: Source<'_>,
    bytes: &[u8],
    compression: Compression,
    max_bytes: u64,
) -> Result<String, StorageError> {
    let text = Text::of(source, bytes, compression, max_bytes)?;
    let end = match compression {
        Compression::Zstd => text.whole,
        Compression::None => match decode(source.id, source.path, bytes, compression, max_bytes) {
            Ok(Decoded { torn: Some(torn), .. }) => usize::try_from(torn.cut_bytes).unwrap_or(usize::MAX),
            Ok(_) | Err(_) => text.bytes.len(),
        },
    };
    Ok(String::from_utf8_lossy(text.bytes.get(..end).unwrap_or(&text.bytes)).into_owned())
}

/// What a file holds, unpacked.
struct Text<'b> {
    bytes: Cow<'b, [u8]>,
    /// How much of it comes from whole frames; 0 where there are none.
    whole: usize,
    /// Where a cut frame begins in the file.
    cut: Option<usize>,
}

impl<'b> Text<'b> {
    fn of(
        source: Source<'_>,
        bytes: &'b [u8],
        compression: Compression,
        max_bytes: u64,
    ) -> Result<Self, StorageError> {
        match compression {
            Compression::None if bytes.len() as u64 > max_bytes => Err(source.too_long(max_bytes)),
            Compression::None => Ok(Self { bytes: bytes.into(), whole: 0, cut: None }),
            Compression::Zstd => Self::unpacked(source, bytes, max_bytes),
        }
    }

    fn unpacked(source: Source<'_>, file: &[u8], max_bytes: u64) -> Result<Self, StorageError> {
        let broken = |at: usize, broken| match broken {
            Broken::TooLong => source.too_long(max_bytes),
            Broken::Invalid(error) => source.corrupt(format!("the frame at byte {at}: {error}")),
        };
        let mut bytes = Vec::new();
        let mut at = 0;
        let mut cut = None;
        while at < file.len() {
            match frames::extent(&file[at..]) {
                Extent::Whole(length) => {
                    frames::unpack(&file[at..at + length], &mut bytes, max_bytes)
                        .map_err(|error| broken(at, error))?;
                    if at == 0 && !is_one_line(&bytes) {
                        return Err(source.corrupt("the first frame must hold the header line, and it alone"));
                    }
                    at += length;
                }
                Extent::Cut => {
                    cut = Some(at);
                    break;
                }
                Extent::Invalid(what) => return Err(source.corrupt(format!("byte {at}: {what}"))),
            }
        }
        if at == 0 {
            return Err(source.corrupt("it has no whole header"));
        }
        let whole = bytes.len();
        if bytes.last() != Some(&b'\n') {
            return Err(source.corrupt(format!("line {} has no newline", count_lines(&bytes) + 1)));
        }
        if let Some(at) = cut {
            frames::unpack_cut(&file[at..], &mut bytes, max_bytes).map_err(|error| broken(at, error))?;
        }
        Ok(Self { bytes: bytes.into(), whole, cut })
    }

    /// What has to be taken away, given the first line that is not part of the log.
    fn torn(&self, first_bad: Option<(usize, String)>) -> Option<Torn> {
        let bad_at = first_bad.as_ref().map(|(line, _)| start_of_line(&self.bytes, *line));
        let Some(cut) = self.cut else {
            let (line, problem) = first_bad?;
            let why = format!("line {line}: {problem}");
            return Some(Torn { why, cut_bytes: bad_at? as u64, kept: Vec::new() });
        };
        let why = format!("the frame at byte {cut} was cut while it was written");
        let end = bad_at.unwrap_or(self.bytes.len());
        let kept = self.bytes.get(self.whole..end).unwrap_or_default().to_vec();
        Some(Torn { why, cut_bytes: cut as u64, kept })
    }
}

impl Source<'_> {
    pub(crate) fn corrupt(self, what: impl std::fmt::Display) -> StorageError {
        StorageError::Corrupt { id: self.id.to_owned(), what: format!("`{}`: {what}", self.path) }
    }

    fn problem(self, line: usize, problem: &dsh_session::Problem) -> StorageError {
        StorageError::of_problem(self.id, &format!("`{}`: line {line}", self.path), problem)
    }

    pub(crate) fn too_long(self, max_bytes: u64) -> StorageError {
        self.corrupt(format!("its text is longer than {max_bytes} bytes (`maxLogBytes`)"))
    }
}

pub(crate) fn is_one_line(bytes: &[u8]) -> bool {
    bytes.iter().position(|byte| *byte == b'\n').is_some_and(|end| end + 1 == bytes.len())
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Where a line begins, counted from 1. The same line may begin elsewhere in a text that was made readable.
fn start_of_line(bytes: &[u8], line: usize) -> usize {
    let Some(before) = line.checked_sub(2) else { return 0 };
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    ends.nth(before).unwrap_or(bytes.len())
}
