//! The reference reads what is written here. It has to be installed; see `xtask/peers/node/session/README.md`:
//! `DSH_REFERENCE_MODULES=/path/to/node_modules cargo test -p dsh-session-jsonl --test peer`
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use dsh_session::{Event, Origin, SessionHeader, Storage as _, closers};
use dsh_session_jsonl::{Compression, JsonlStorage};
use serde_json::{Value, json};
use support::{BOTH, chunk, config, events, note, object, repaired, turn_end, turn_start};

const MISSING: &str = "skipped: DSH_REFERENCE_MODULES does not say where the reference is installed";

struct Reference {
    node: PathBuf,
    script: PathBuf,
}

impl Reference {
    fn installed() -> Option<Self> {
        let modules = PathBuf::from(std::env::var_os("DSH_REFERENCE_MODULES")?);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/peers/node/session/read.mjs");
        Some(Self { node: modules.join(".bin/node"), script })
    }

    /// All that it makes of a session.
    fn read(&self, root: &Path, id: &str, compression: Compression) -> Value {
        let compression = if compression == Compression::Zstd { "zstd" } else { "none" };
        let output = Command::new(&self.node)
            .arg(&self.script)
            .arg(root)
            .args([id, "--compression", compression])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
        if report["load"] == json!({"sameAs": "inspect"}) {
            report["load"] = report["inspect"].clone();
        }
        report
    }
}

/// A turn of everything that a log holds often.
fn turn() -> Vec<String> {
    let mut lines = vec![
        turn_start(0),
        r#"{"type":"user/message","seq":1,"time":-5,"data":{"id":"m1","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"quote \" back \\ tab\t nul\u0000 😀 日本"}]},"surfaceOp":"append"}"#.to_owned(),
        r#"{"type":"step/start","seq":2,"time":2,"data":{"turn":1,"step":1}}"#.to_owned(),
    ];
    lines.extend((3..9).map(|seq| chunk(seq, "pièce")));
    for seq in 9..13 {
        lines.push(format!(r#"{{"type":"assistant/chunk","seq":{seq},"time":{seq},"data":{{"turn":1,"step":1,"chunk":{{"type":"tool-call-delta","index":1,"id":"c1","name":"bash","argumentsDelta":"{{\"a"}}}}}}"#));
    }
    lines.push(r#"{"type":"assistant/message","seq":13,"time":13,"data":{"turn":1,"step":1,"message":{"id":"m2","role":"assistant","source":{"kind":"model","provider":"p","model":"m"},"content":[{"type":"text","text":"so"},{"type":"tool-call","id":"c1","name":"bash","arguments":"{\"command\":\"ls\"}"}]},"usage":{"inputTokens":10,"outputTokens":4},"finishReason":"tool-calls"},"surfaceOp":"append"}"#.to_owned());
    lines.push(note(14));
    lines
}

/// Writes a session in batches of three.
fn write(
    root: &Path,
    compression: Compression,
    pack: bool,
    header: &SessionHeader,
    lines: &[String],
) -> JsonlStorage {
    let mut config = config(root, compression);
    config.pack_chunks = pack;
    let store = JsonlStorage::open(config).unwrap();
    let all = events(lines);
    let mut writer = store.create(header, &all[..1]).unwrap();
    let (mut done, sizes) = (1, [2, 10, 1, 2]);
    for size in sizes.into_iter().cycle() {
        let end = (done + size).min(all.len());
        writer.append(&all[done..end]).unwrap();
        done = end;
        if done == all.len() {
            break;
        }
    }
    drop(writer);
    store
}

/// Compares event by event, so that a failure shows the one.
#[track_caller]
fn assert_same(theirs: &Value, ours: &Value, what: &str) {
    let (theirs, ours) = (theirs.as_array().expect("it reads the log"), ours.as_array().unwrap());
    for (theirs, ours) in theirs.iter().zip(ours) {
        assert_eq!(theirs, ours, "{what}");
    }
    assert_eq!(theirs.len(), ours.len(), "{what}");
}

/// Texts of made-up results are each program's own.
fn without_made_up_texts(mut event: Value) -> Value {
    if event["data"]["message"]["id"].as_str().is_some_and(|id| id.starts_with("interrupted-tool-result-")) {
        event["data"]["message"]["content"][0]["content"][0]["text"] = Value::Null;
    }
    event
}

fn headers() -> Vec<SessionHeader> {
    let mut fork = SessionHeader::new("fork/ö~", 1_700_000_000_000);
    fork.cwd = Some("/odd dir/~ü/日本:x".to_owned());
    fork.parent_session = Some("parent".to_owned());
    fork.seed_length = Some(3);
    fork.origin = Some(Origin::Subagent);
    fork.delegation_depth = 2;
    fork.agent_preset = Some("plan".to_owned());
    let mut long = SessionHeader::new("..", 1);
    long.cwd = Some(format!("/{}", "é".repeat(100)));
    vec![SessionHeader::new("plain", 0), fork, long]
}

// spec: session/S90, S91, S92, S93, S94
#[test]
fn the_reference_reads_what_is_written_here() {
    let Some(reference) = Reference::installed() else { return println!("{MISSING}") };
    let mut lines = turn();
    lines.push(r#"{"type":"step/end","seq":15,"time":15,"data":{"turn":1,"step":1}}"#.to_owned());
    lines.push(turn_end(16));
    for compression in BOTH {
        for pack in [true, false] {
            let root = tempfile::tempdir().unwrap();
            for header in headers() {
                let store = write(root.path(), compression, pack, &header, &lines);
                let ours: Vec<Value> = store
                    .read(&header.id)
                    .unwrap()
                    .unwrap()
                    .events
                    .iter()
                    .map(|event| object(&event))
                    .collect();
                let report = reference.read(root.path(), &header.id, compression);
                assert_same(
                    &report["inspect"]["ok"]["events"],
                    &json!(ours),
                    &format!("{compression:?} {pack} {}", header.id),
                );
                assert_eq!(report["load"]["ok"]["events"], json!(ours));
                let mut line: Value = serde_json::from_str(&header.to_line().unwrap()).unwrap();
                line.as_object_mut().unwrap().remove("type");
                assert_eq!(report["inspect"]["ok"]["header"], line);
                assert!(report["list"]["ok"].as_array().unwrap().contains(&line));
                assert_eq!(report["repaired"]["ok"], Value::Null, "nothing to repair");
            }
        }
    }
}

// spec: session/S96, S97
#[test]
fn the_reference_closes_and_cuts_a_log_of_ours_as_it_is_done_here() {
    let Some(reference) = Reference::installed() else { return println!("{MISSING}") };
    for compression in BOTH {
        for torn in [0, 1, 3, 20] {
            let root = tempfile::tempdir().unwrap();
            let header = SessionHeader::new("t", 1);
            let store = write(root.path(), compression, true, &header, &turn());
            let path = support::log_path(root.path(), compression);
            let file = fs::read(&path).unwrap();
            fs::File::create(&path).unwrap().write_all(&file[..file.len() - torn]).unwrap();

            let report = reference.read(root.path(), "t", compression);
            let stored = store.read("t").unwrap().unwrap();
            let ours = |events: &[Arc<Event>]| -> Value {
                events.iter().map(|event| without_made_up_texts(object(event))).collect()
            };
            let closed = [stored.events.to_vec(), closers(&stored.events)].concat();
            assert_same(
                &report["inspect"]["ok"]["events"],
                &ours(&closed),
                &format!("{compression:?}, {torn} bytes short"),
            );
            let repaired = repaired(&store, "t").unwrap().unwrap();
            assert_same(&report["load"]["ok"]["events"], &ours(&repaired.events.to_vec()), "after its load");
            let after = reference.read(root.path(), "t", compression);
            assert_same(
                &after["inspect"]["ok"]["events"],
                &ours(&repaired.events.to_vec()),
                "what was repaired here",
            );
            assert_eq!(after["repaired"]["ok"], Value::Null);
        }
    }
}
