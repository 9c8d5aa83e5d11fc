//! Bad input: the file and the line are named, the exit code is 2, and nothing was done.

use std::fs;

use serde_json::json;

use crate::fixture::{Fixture, Log};

/// A log that would leave a file if any of it was run.
fn marked(fixture: &Fixture) -> Log {
    Log::new().bash(&format!("touch {}", fixture.path("ran").display())).result("(no output)")
}

#[track_caller]
fn refused(fixture: &Fixture, line: usize, says: &str) {
    let ran = fixture.replay(&["--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("log.jsonl: line {line}: ")), "{}", ran.stderr);
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
    assert!(!fixture.path("ran").exists());
    fixture.assert_tidy();
}

#[test]
fn a_missing_file() {
    let fixture = Fixture::new();
    let ran = fixture.replay(&["--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("log.jsonl"), "{}", ran.stderr);
    let folder = fixture.run(&["replay", "--yes", &fixture.path("tmp").display().to_string()]);
    assert_eq!(folder.code, Some(2));
}

#[test]
fn a_broken_line() {
    let fixture = Fixture::new();
    let text = marked(&fixture).text();
    for (number, broken) in [(2, "{\"type\":"), (3, "nonsense"), (4, "")] {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(number - 1, broken);
        fs::write(fixture.log(), format!("{}\n", lines.join("\n"))).unwrap();
        refused(&fixture, number, "not a JSON object");
    }
}

#[test]
fn an_unknown_version() {
    let fixture = Fixture::new();
    fs::write(fixture.log(), marked(&fixture).text().replace("\"version\":0", "\"version\":7")).unwrap();
    refused(&fixture, 1, "version 7");
}

#[test]
fn no_header() {
    let fixture = Fixture::new();
    let text = marked(&fixture).text();
    fs::write(fixture.log(), text.split_once('\n').unwrap().1).unwrap();
    refused(&fixture, 1, "header");
    fs::write(fixture.log(), "").unwrap();
    refused(&fixture, 1, "empty");
}

#[test]
fn an_unknown_event_that_is_required() {
    let fixture = Fixture::new();
    let log = marked(&fixture).event("made/up", json!({}), json!({}));
    fs::write(fixture.log(), log.text()).unwrap();
    refused(&fixture, 5, "made/up");
    let log = marked(&fixture).event("made/up", json!({}), json!({ "ignorable": true }));
    fs::write(fixture.log(), log.text()).unwrap();
    assert_eq!(fixture.replay(&["--yes"]).code, Some(0));
}

#[test]
fn a_gap_in_the_numbers() {
    let fixture = Fixture::new();
    fs::write(fixture.log(), marked(&fixture).text().replace("\"seq\":2", "\"seq\":3")).unwrap();
    refused(&fixture, 4, "expected seq 2, found 3");
}

#[test]
fn a_call_that_is_no_call() {
    let fixture = Fixture::new();
    fs::write(fixture.log(), marked(&fixture).text().replace("\"callId\":\"call-1\",\"name\"", "\"name\""))
        .unwrap();
    refused(&fixture, 3, "tool/call");
}

#[test]
fn a_compressed_log() {
    let fixture = Fixture::with_text([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]);
    refused(&fixture, 1, "zstd -d");
}

#[test]
fn what_only_looks_like_no_json_is_named() {
    refused(&Fixture::with_text([0x1f, 0x8b, 8, 0, 0, 0xff]), 1, "gunzip -c");
    refused(&Fixture::with_text(format!("\u{feff}{}", Log::new().text())), 1, "byte order mark");
}

#[test]
fn a_last_line_that_was_cut_is_left_out_with_a_warning() {
    let fixture = Fixture::with_text(format!(
        "{}{{\"type\":\"tool/ca",
        Log::new().bash("echo hi").result("hi\n").text()
    ));
    let ran = fixture.replay(&["--yes"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("log.jsonl: line 5: "), "{}", ran.stderr);
    assert!(ran.stdout.contains("same result as logged: 1"), "{}", ran.stdout);
}

#[test]
fn a_wrong_command_line() {
    let fixture = Fixture::with(&Log::new());
    for arguments in [
        &["replay"][..],
        &["replay", "--what", "x"],
        &["replay", "--unload-after", "1", "x"],
        &["replya", "x"],
    ] {
        assert_eq!(fixture.run(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn examples_and_exit_codes_are_documented() {
    for arguments in [&["--help"][..], &["replay", "--help"], &["plugins", "--help"]] {
        let ran = Fixture::new().run(arguments);
        assert_eq!(ran.code, Some(0));
        assert!(ran.stdout.contains("Exit codes:"), "{}", ran.stdout);
        assert!(ran.stdout.contains("Examples:"), "{}", ran.stdout);
    }
    let help = Fixture::new().run(&["replay", "--help"]).stdout;
    assert!(help.contains("\n  130  Ctrl-C at the question"), "{help}");
    assert!(help.contains("dsh replay --yes - "), "{help}");
}
