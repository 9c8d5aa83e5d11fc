//! Logs that the reference has written, and its own reading of them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_session::{Event, SessionHeader, SessionLog, Storage as _, closers};
use dsh_session_jsonl::{Compression, JsonlStorage};
use serde_json::Value;
use support::{file_name, frames, object, quick};

struct Fixture {
    name: String,
    folder: PathBuf,
    compression: Compression,
    expected: serde_json::Map<String, Value>,
}

fn fixtures() -> Vec<Fixture> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reference");
    let mut fixtures = Vec::new();
    for entry in fs::read_dir(all).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().into_string().unwrap();
        let compression = if name.starts_with("zstd") { Compression::Zstd } else { Compression::None };
        let expected = fs::read_to_string(entry.path().join("expected.json")).unwrap();
        let expected = serde_json::from_str(&expected).unwrap();
        fixtures.push(Fixture { name, folder: entry.path(), compression, expected });
    }
    assert_eq!(fixtures.len(), 9, "all fixtures are there");
    fixtures
}

fn fixture(name: &str) -> Fixture {
    fixtures().into_iter().find(|fixture| fixture.name == name).unwrap()
}

impl Fixture {
    /// A copy, which may be changed.
    fn copy(&self) -> (tempfile::TempDir, JsonlStorage) {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(&self.folder.join("root"), copy.path());
        let store = quick(copy.path(), self.compression);
        (copy, store)
    }

    fn file(&self, id: &str) -> Vec<u8> {
        let (copy, store) = self.copy();
        fs::read(path_of(&copy, &store, id)).unwrap()
    }

    /// An answer of the reference, with what it refers to put in.
    fn answer(&self, id: &str, name: &str) -> Value {
        let answers = &self.expected[id];
        let answer = &answers[name];
        if let Some(other) = answer.get("sameAs") {
            return answers[other.as_str().unwrap()].clone();
        }
        if let Some(other) = answer.get("prefixOf") {
            let mut whole = answers[other.as_str().unwrap()].clone();
            let length = answer["length"].as_u64().unwrap() as usize;
            whole["ok"]["events"].as_array_mut().unwrap().truncate(length);
            return whole;
        }
        answer.clone()
    }
}

fn path_of(copy: &tempfile::TempDir, store: &JsonlStorage, id: &str) -> PathBuf {
    let header = store.read(id).unwrap().unwrap().header;
    match store.locate(&header).unwrap() {
        dsh_session::Location::Jsonl { path } => {
            assert!(path.starts_with(copy.path()));
            path
        }
        other => panic!("{other:?}"),
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn header_object(header: &SessionHeader) -> Value {
    let mut line: Value = serde_json::from_str(&header.to_line().unwrap()).unwrap();
    line.as_object_mut().unwrap().shift_remove("type");
    line
}

/// Takes out the texts of results that were made up for interrupted calls: each program has its own.
fn without_made_up_texts(mut event: Value) -> Value {
    let made_up =
        event["data"]["message"]["id"].as_str().is_some_and(|id| id.starts_with("interrupted-tool-result-"));
    if made_up {
        event["data"]["message"]["content"][0]["content"][0]["text"] = Value::Null;
    }
    event
}

fn objects(events: &[Arc<Event>]) -> Vec<Value> {
    events.iter().map(|event| without_made_up_texts(object(event))).collect()
}

#[track_caller]
fn assert_same(name: &str, ours: &[Value], theirs: &Value) {
    let theirs = theirs.as_array().unwrap();
    assert_eq!(ours.len(), theirs.len(), "{name}: number of events");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert_eq!(ours, theirs, "{name}");
    }
}

// spec: session/S92, S93, S94, S96, S97
#[test]
fn what_the_reference_reads_of_its_logs_is_read() {
    for fixture in fixtures() {
        for id in fixture.expected.keys() {
            let (_copy, store) = fixture.copy();
            let stored = store.read(id).unwrap().unwrap();
            let answer = fixture.answer(id, "readFrom");
            assert_eq!(header_object(&stored.header), answer["ok"]["header"], "{}/{id}", fixture.name);
            assert_same(&fixture.name, &objects(&stored.events.to_vec()), &answer["ok"]["events"]);
            assert_eq!(
                stored.torn.is_some(),
                fixture.name.contains("torn"),
                "{}: {:?}",
                fixture.name,
                stored.torn
            );
        }
    }
}

// spec: session/S98, S80
#[test]
fn what_the_reference_lists_is_listed() {
    for fixture in fixtures() {
        let (_copy, store) = fixture.copy();
        let mut ours: Vec<Value> =
            store.list().unwrap().iter().map(|listed| header_object(&listed.header)).collect();
        let id = fixture.expected.keys().next().unwrap();
        let mut theirs = fixture.answer(id, "list")["ok"].as_array().unwrap().clone();
        ours.sort_by_key(|header| header["id"].to_string());
        theirs.sort_by_key(|header| header["id"].to_string());
        assert_eq!(ours, theirs, "{}", fixture.name);
    }
}

// spec: session/S96, S97
#[test]
fn a_repair_leaves_the_events_that_the_reference_leaves() {
    for fixture in fixtures() {
        for id in fixture.expected.keys() {
            let (_copy, store) = fixture.copy();
            let before = store.read_raw(id).unwrap().unwrap().content;
            let stored = support::repaired(&store, id).unwrap().unwrap();
            assert_same(
                &fixture.name,
                &objects(&stored.events.to_vec()),
                &fixture.answer(id, "load")["ok"]["events"],
            );
            assert_eq!(stored.torn, None);

            let after = store.read_raw(id).unwrap().unwrap().content;
            let lines = |text: &str| -> Vec<Value> {
                text.lines().map(|line| without_made_up_texts(serde_json::from_str(line).unwrap())).collect()
            };
            match fixture.answer(id, "repaired") {
                answer if answer["ok"].is_null() => assert_eq!(before, after, "{}", fixture.name),
                answer => assert_same(&fixture.name, &lines(&after), &answer["ok"]),
            }
        }
    }
}

// spec: session/S76
#[test]
fn closers_in_memory_are_those_that_the_reference_shows() {
    for fixture in fixtures() {
        for id in fixture.expected.keys() {
            let (_copy, store) = fixture.copy();
            let events = store.read(id).unwrap().unwrap().events;
            let closers = closers(&events);
            let events = [events.to_vec(), closers].concat();
            assert_same(&fixture.name, &objects(&events), &fixture.answer(id, "inspect")["ok"]["events"]);
        }
    }
}

/// Writes the events of a log anew, in the batches that they were written in.
fn rewritten(lines: &[String], header: &SessionHeader, compression: Compression, pack: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut config = support::config(folder.path(), compression);
    config.pack_chunks = pack;
    let store = JsonlStorage::open(config).unwrap();
    let mut log = format!("{}\n", header.to_line().unwrap());
    let mut writer = None;
    let mut done = 0;
    for batch in lines {
        log.push_str(batch);
        let events = SessionLog::parse(log.as_bytes()).unwrap().events.to_vec();
        match &mut writer {
            None => writer = Some(store.create(header, &events).unwrap()),
            Some(writer) => writer.append(&events[done..]).unwrap(),
        }
        done = events.len();
    }
    let project = dsh_session_jsonl::project_folder(header.cwd.as_deref()).unwrap();
    let session = dsh_session_jsonl::session_folder(&header.id).unwrap();
    fs::read(folder.path().join(project).join(session).join(file_name(compression))).unwrap()
}

// spec: session/S92, S93
#[test]
fn plain_logs_are_written_byte_for_byte_like_the_reference_does() {
    let batches = frames(&fixture("zstd-packed").file("core"));
    for (name, pack) in [("plain-packed", true), ("plain-unpacked", false)] {
        let fixture = fixture(name);
        let file = fixture.file("core");
        let header = SessionHeader::parse(&batches[0]).unwrap();
        let ours = rewritten(&batches[1..], &header, Compression::None, pack);
        assert_eq!(String::from_utf8(ours).unwrap(), String::from_utf8(file).unwrap(), "{name}");
    }
}

// spec: session/S94
#[test]
fn compressed_logs_are_written_byte_for_byte_like_the_reference_does() {
    let file = fixture("zstd-packed").file("core");
    let batches = frames(&file);
    assert_eq!(batches.len(), 3, "the header and two batches");
    let header = SessionHeader::parse(&batches[0]).unwrap();
    assert!(rewritten(&batches[1..], &header, Compression::Zstd, true) == file, "the files differ");
}

// spec: session/S92
#[test]
fn the_logs_of_a_fork_are_written_byte_for_byte_like_the_reference_does() {
    let fixture = fixture("plain-fork");
    for id in ["parent", "child"] {
        let file = String::from_utf8(fixture.file(id)).unwrap();
        let (first, rest) = file.split_once('\n').unwrap();
        let header = SessionHeader::parse(first).unwrap();
        let ours = rewritten(&[rest.to_owned()], &header, Compression::None, true);
        assert_eq!(String::from_utf8(ours).unwrap(), file, "{id}");
    }
}

// spec: session/S100
#[test]
fn raw_text_is_that_of_the_file_without_what_is_torn() {
    for fixture in fixtures() {
        for id in fixture.expected.keys() {
            let (_copy, store) = fixture.copy();
            let raw = store.read_raw(id).unwrap().unwrap();
            assert_eq!(raw.filename, "session.jsonl");
            let file = fixture.file(id);
            let whole = match (fixture.compression, fixture.name.contains("torn")) {
                (Compression::Zstd, false) => frames(&file).concat(),
                (Compression::None, false) => String::from_utf8(file).unwrap(),
                (Compression::Zstd, true) => frames(&file[..file.len() - torn_bytes(&file)]).concat(),
                (Compression::None, true) => {
                    let file = String::from_utf8(file).unwrap();
                    file[..=file.rfind('\n').unwrap()].to_owned()
                }
            };
            assert_eq!(raw.content, whole, "{}/{id}", fixture.name);
        }
    }
}

/// How long the last, cut frame is: from the last magic number on.
fn torn_bytes(file: &[u8]) -> usize {
    file.windows(4).rev().position(|four| four == [0x28, 0xb5, 0x2f, 0xfd]).unwrap() + 4
}
