//! What the tests of the store share.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod faulty;

use std::fs;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_session::{
    Event, Events, Opened, SessionHeader, SessionLog, Storage as _, StorageError, Stored, closers,
};
use dsh_session_jsonl::{Compression, Config, Fsync, JsonlStorage};
use serde_json::Value;

/// A header line as the reference writes it.
pub(crate) const HEADER: &str =
    r#"{"type":"session","version":0,"id":"t","createdAt":1,"delegationDepth":0}"#;
pub(crate) const BOTH: [Compression; 2] = [Compression::Zstd, Compression::None];

pub(crate) fn config(root: &Path, compression: Compression) -> Config {
    let mut config = Config::new(root);
    config.compression = compression;
    config
}

pub(crate) fn store(root: &Path, compression: Compression) -> JsonlStorage {
    JsonlStorage::open(config(root, compression)).unwrap()
}

/// A store that does not wait for the disk.
pub(crate) fn quick(root: &Path, compression: Compression) -> JsonlStorage {
    let mut config = config(root, compression);
    config.fsync = Fsync::Never;
    JsonlStorage::open(config).unwrap()
}

/// The events of these lines, numbered from 0.
pub(crate) fn events(lines: &[String]) -> Vec<Arc<Event>> {
    SessionLog::parse(format!("{HEADER}\n{}", text(lines)).as_bytes()).unwrap().events.to_vec()
}

pub(crate) fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// An event that any reader may skip.
pub(crate) fn note(seq: usize) -> String {
    format!(r#"{{"type":"x/note","seq":{seq},"time":{seq},"data":{{"n":{seq}}},"ignorable":true}}"#)
}

pub(crate) fn notes(count: usize) -> Vec<Arc<Event>> {
    events(&(0..count).map(note).collect::<Vec<_>>())
}

pub(crate) fn turn_start(seq: usize) -> String {
    format!(r#"{{"type":"turn/start","seq":{seq},"time":{seq},"data":{{"turn":1}}}}"#)
}

pub(crate) fn turn_end(seq: usize) -> String {
    format!(
        r#"{{"type":"turn/end","seq":{seq},"time":{seq},"data":{{"turn":1,"reason":{{"kind":"completed"}}}}}}"#
    )
}

pub(crate) fn chunk(seq: usize, piece: &str) -> String {
    format!(
        r#"{{"type":"assistant/chunk","seq":{seq},"time":{seq},"data":{{"turn":1,"step":1,"chunk":{{"type":"text-delta","index":0,"text":"{piece}"}}}}}}"#
    )
}

pub(crate) fn header() -> SessionHeader {
    SessionHeader::new("t", 1)
}

/// Where the log of the session `t` is.
pub(crate) fn log_path(root: &Path, compression: Compression) -> PathBuf {
    root.join("_no-cwd/t").join(file_name(compression))
}

pub(crate) fn file_name(compression: Compression) -> &'static str {
    match compression {
        Compression::Zstd => "session.jsonl.zstd",
        Compression::None => "session.jsonl",
    }
}

/// Puts bytes where the log of the session `t` is.
pub(crate) fn put(root: &Path, compression: Compression, bytes: &[u8]) -> PathBuf {
    let path = log_path(root, compression);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// A frame as the reference writes it.
pub(crate) fn frame(text: &str) -> Vec<u8> {
    frame_of(text.as_bytes(), 3, true)
}

pub(crate) fn frame_of(text: &[u8], level: i32, checksum: bool) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level).unwrap();
    encoder.include_checksum(checksum).unwrap();
    std::io::Write::write_all(&mut encoder, text).unwrap();
    encoder.finish().unwrap()
}

/// What each frame of a container holds.
pub(crate) fn frames(file: &[u8]) -> Vec<String> {
    let mut frames = Vec::new();
    let mut rest = Cursor::new(file);
    while (rest.position() as usize) < file.len() {
        let mut text = String::new();
        let mut decoder = zstd::stream::read::Decoder::with_buffer(&mut rest).unwrap().single_frame();
        decoder.read_to_string(&mut text).unwrap();
        frames.push(text);
    }
    frames
}

/// Takes a session, repairs and closes it, and gives what is stored then.
pub(crate) fn repaired(store: &JsonlStorage, id: &str) -> Result<Option<Stored>, StorageError> {
    let Some(Opened { stored, mut writer }) = store.open(id)? else { return Ok(None) };
    writer.repair(&closers(&stored.events))?;
    store.read(id)
}

/// An event as the object that its line is.
pub(crate) fn object(event: &Event) -> Value {
    serde_json::from_str(&event.to_line()).unwrap()
}

pub(crate) fn kinds(events: &Events) -> Vec<String> {
    events.iter().map(|event| event.kind().to_owned()).collect()
}

pub(crate) fn message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
