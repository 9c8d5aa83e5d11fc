//! `dsh session check`: what is wrong, where, and what becomes of it.

#![cfg(feature = "sqlite")]

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Log, Ran};
use crate::session::{KINDS, Kind, Store, assert_refused, ended, whole};

const FILES: [Kind; 2] = [Kind::Plain, Kind::Zstd];

fn verdicts(lines: &[Value]) -> Vec<&Value> {
    lines.iter().map(|line| &line["verdict"]).collect()
}

#[test]
fn exit_codes_are_the_same_for_a_file_a_folder_and_a_store() {
    for kind in FILES {
        for (state, code) in [("sound", 0), ("open", 0), ("torn", 1), ("damaged", 1)] {
            let store = Store::new(kind);
            match state {
                "sound" => store.add("s-1", &whole()),
                "open" => store.add("s-1", &Log::new().bash("ls")),
                "torn" => {
                    store.add("s-1", &whole());
                    store.cut("s-1", 3);
                }
                _ => {
                    store.add("s-1", &whole());
                    store.damage("s-1");
                }
            }
            let (file, folder) = (store.log("s-1").display().to_string(), store.path().display().to_string());
            for arguments in
                [&["check", "--json"][..], &["check", "--json", &folder], &["check", "--json", &file]]
            {
                let lines = store.json(arguments, code);
                assert_eq!(verdicts(&lines), [state], "{kind:?} {arguments:?}");
                assert_eq!(lines[0]["canContinue"], json!(state != "damaged"), "{lines:?}");
            }
            assert_eq!(store.run(&["check"]).code, Some(code));
        }
    }
}

#[test]
fn a_path_that_is_not_there_is_a_wrong_command_line() {
    let store = Store::with(Kind::Plain, "s-1");
    assert_refused(&store.run(&["check", "/no/such/log"]), &["cannot check /no/such/log: "]);
}

#[test]
fn one_line_and_one_event_are_not_many() {
    let store = Store::new(Kind::Plain);
    store.add("s-1", &Log::new());
    let ran = store.run(&["check"]);
    assert!(ran.stdout.contains("(2 lines, 1 event)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(the next agent that goes on with it adds 1 event)"), "{}", ran.stdout);
}

#[test]
fn what_the_next_agent_does_is_said_as_far_as_it_does_anything() {
    let store = Store::new(Kind::Plain);
    store.add("closed", &whole());
    let mut text = fs::read_to_string(store.log("closed")).unwrap();
    text.push_str("{\"type");
    fs::write(store.log("closed"), &text).unwrap();
    let ran = store.run(&["check"]);
    assert_eq!(ran.code, Some(1));
    let says = "    the next agent that goes on with `closed` (created 1970-01-01 00:00:00) takes away 6 bytes from line 6 on\n";
    assert!(ran.stdout.ends_with(says), "{}", ran.stdout);

    let store = Store::new(Kind::Plain);
    store.add("open", &Log::new().bash("ls").bash("pwd"));
    store.cut("open", 3);
    let ran = store.run(&["check"]);
    assert!(ran.stdout.contains(" from line 4 on and closes its last turn by 1 event\n"), "{}", ran.stdout);
}

fn check_piped(name: &str, log: &[u8]) -> Ran {
    let fixture = Fixture::new();
    let mut command = fixture.command();
    let mut child = command.args(["session", "check", name]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(log).unwrap();
    drop(stdin);
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn a_log_can_come_by_a_pipe() {
    let packed = Store::with(Kind::Zstd, "s-1");
    for log in [whole().text().into_bytes(), fs::read(packed.log("s-1")).unwrap()] {
        let ran = check_piped("-", &log);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert_eq!(ran.stdout, "standard input: sound (5 lines, 4 events)\n");
        if cfg!(target_os = "linux") {
            let ran = check_piped("/dev/stdin", &log);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "/dev/stdin: sound (5 lines, 4 events)\n"));
        }
    }
    assert_eq!(check_piped("-", b"nonsense\n").code, Some(1));
}

#[test]
fn a_log_that_is_not_where_its_header_says_is_misplaced_in_its_store() {
    for kind in FILES {
        let store = Store::with(kind, "s-1");
        let (from, to) = (store.path().join("--home-user-project--"), store.path().join("elsewhere"));
        fs::rename(&from, &to).unwrap();
        let lines = store.json(&["check", "--json"], 1);
        assert_eq!(verdicts(&lines), ["misplaced"]);
        let problem = lines[0]["findings"][0]["problem"].as_str().unwrap();
        assert_eq!(problem, format!("its header belongs into `{}`", from.join("s-1").display()));
        // By itself it is sound, wherever it is.
        let folder = to.display().to_string();
        assert_eq!(verdicts(&store.json(&["check", "--json", &folder], 0)), ["sound"]);
    }
}

#[test]
fn a_log_of_an_older_layout_is_misplaced() {
    let store = Store::with(Kind::Plain, "s-1");
    let flat = store.path().join("--home-user-project--").join("s-1.jsonl");
    fs::rename(store.log("s-1"), flat).unwrap();
    assert_eq!(verdicts(&store.json(&["check", "--json"], 1)), ["misplaced"]);
}

#[test]
fn an_id_that_is_there_twice_is_told() {
    let store = Store::with(Kind::Plain, "s-1");
    let copy = store.path().join("second").join("s-1");
    fs::create_dir_all(&copy).unwrap();
    fs::copy(store.log("s-1"), copy.join("session.jsonl")).unwrap();
    let lines = store.json(&["check", "--json"], 1);
    assert_eq!(verdicts(&lines), ["sound", "misplaced"]);
    let problem = lines[1]["findings"][1]["problem"].as_str().unwrap();
    assert_eq!(problem, format!("the id `s-1` is that of `{}` too", store.log("s-1").display()));
}

#[test]
fn two_encodings_in_one_store_are_told() {
    let store = Store::with(Kind::Plain, "s-1");
    let packed = Store::with(Kind::Zstd, "s-2");
    let into = store.path().join("--home-user-project--").join("s-2");
    fs::rename(packed.log("s-2").parent().unwrap(), into).unwrap();
    let ran = store.run(&["check"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains(
            "/store: logs of both kinds\n    1 plain and 1 compressed, where a store holds one kind"
        ),
        "{}",
        ran.stdout
    );
    // Logs of a folder that is no store may be of any kind.
    let folder = store.path().display().to_string();
    assert_eq!(store.run(&["check", &folder]).code, Some(0));
}

#[test]
fn a_damaged_log_does_not_keep_the_others_from_being_checked() {
    for kind in FILES {
        let store = Store::with(kind, "a");
        store.add("b", &whole());
        store.damage("a");
        assert_eq!(verdicts(&store.json(&["check", "--json"], 1)), ["damaged", "sound"]);
    }
}

#[test]
fn every_session_of_a_database_is_checked() {
    let store = Store::with(Kind::Database, "b");
    store.add("a", &Log::new().bash("ls"));
    let file = store.path().display().to_string();
    for arguments in [&["check", "--json"][..], &["check", "--json", &file]] {
        let lines = store.json(arguments, 0);
        assert_eq!(verdicts(&lines), ["open", "sound"], "{arguments:?}");
        let ids: Vec<&Value> = lines.iter().map(|line| &line["session"]).collect();
        assert_eq!(ids, ["a", "b"]);
    }
    let text = store.run(&["check"]).stdout;
    assert!(text.ends_with("sessions.db: session `b`: sound (4 events)\n"), "{text}");
    let named = store.fixture.run(&["session", "check", &file]);
    assert_eq!((named.code, named.stdout), (Some(0), text));
}

#[test]
fn what_is_wrong_in_a_database_does_not_hide_from_a_check() {
    let store = Store::with(Kind::Database, "good");
    store.add("torn", &Log::new().bash("ls").bash("pwd"));
    store.add("worse", &whole());
    // Of the same length, so that the pages stay what they are: no UUID, and no JSON.
    let mut bytes = fs::read(store.path()).unwrap();
    let row = b"worse/home/user/project";
    let at = find(&bytes, row) + row.len();
    bytes[at..at + 9].copy_from_slice(b"no-uuid!!");
    let at = find(&bytes, b"{\"turn\":1,\"step\":1,\"callId\":\"call-2\"");
    bytes[at] = b'x';
    fs::write(store.path(), bytes).unwrap();
    let lines = store.json(&["check", "--json"], 1);
    assert_eq!(verdicts(&lines), ["sound", "torn", "damaged"], "{lines:?}");
    assert_eq!(lines[2]["session"], "worse");
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).unwrap()
}

#[test]
fn a_check_writes_nothing() {
    for kind in KINDS {
        let store = Store::new(kind);
        store.add("s-1", &ended(Log::new()));
        if kind != Kind::Database {
            store.cut("s-1", 3);
        }
        let file = if kind == Kind::Database { store.path() } else { store.log("s-1") };
        let before = fs::read(&file).unwrap();
        store.run(&["check"]);
        assert!(fs::read(&file).unwrap() == before, "{kind:?}");
    }
}
