//! Replaying a log.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::fixture::{Fixture, Log, of_type};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/session.jsonl");

#[test]
fn the_sample_log_gives_its_own_results_again() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["replay", "--yes", SAMPLE]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("2 turns, 8 calls"), "{}", ran.stdout);
    assert!(ran.stdout.contains("same result as logged: 8, different: 0, denied: 0"), "{}", ran.stdout);
    assert!(ran.stdout.contains("no plugin offers: web_search"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\x1b'), "no colours without a terminal");
    fixture.assert_tidy();
}

#[test]
fn every_line_of_the_json_form_is_an_object_with_its_type() {
    let fixture = Fixture::new();
    std::fs::copy(SAMPLE, fixture.log()).unwrap();
    let lines = fixture.replay_json(&[]);
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, [&["plan"][..], &["call"; 8], &["summary"]].concat());
    let (plan, summary) = (&lines[0], &lines[9]);
    assert_eq!((plan["turns"].as_u64(), plan["calls"].as_array().unwrap().len()), (Some(2), 8));
    assert_eq!(plan["calls"][0]["name"], "bash");
    for (field, value) in [
        ("calls", json!(8)),
        ("same", json!(8)),
        ("different", json!(0)),
        ("denied", json!(0)),
        ("unknownTool", json!(1)),
        ("notCompared", json!(0)),
        ("leftOut", json!(0)),
        ("unknownNames", json!(["web_search"])),
    ] {
        assert_eq!(summary[field], value, "{field}");
    }
    let unknown: Vec<bool> =
        of_type(&lines, "call").iter().map(|call| call["unknownTool"].as_bool().unwrap()).collect();
    assert_eq!(unknown, [false, false, false, false, true, false, false, false]);
}

#[test]
fn a_different_result_is_told_and_shown_on_request() {
    let fixture = Fixture::with(&Log::new().bash("printf 'a\\nb\\n'").result("a\nB\n"));
    let ran = fixture.replay(&["--yes"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("differs from line 2 on"), "{}", ran.stdout);
    assert!(ran.stdout.contains("same result as logged: 0, different: 1"), "{}", ran.stdout);
    let ran = fixture.replay(&["--yes", "--diff"]);
    assert!(ran.stdout.contains("-B\n") && ran.stdout.contains("+b\n"), "{}", ran.stdout);
}

#[test]
fn each_call_comes_to_one_verdict() {
    let log = Log::new()
        .bash("echo same")
        .result("same\n")
        .bash("echo new")
        .result("old\n")
        .call("grep", "{}")
        .result("found")
        .bash("echo open");
    let lines = Fixture::with(&log).replay_json(&[]);
    let verdicts: Vec<&str> =
        of_type(&lines, "call").iter().map(|call| call["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["same", "different", "unknown-tool", "not-logged"]);
    let summary = &lines[5];
    for field in ["same", "different", "notCompared", "unknownTool", "notLogged"] {
        assert_eq!(summary[field], 1, "{field}");
    }
}

#[test]
fn calls_of_unknown_tools_are_counted_whatever_they_came_to() {
    let log = Log::new().call("grep", "{}").result("found").call("grep", "{}").bash("true");
    let lines = Fixture::with(&log).replay_json(&[]);
    let unknown = of_type(&lines, "call").iter().filter(|call| call["unknownTool"] == true).count();
    let summary = &lines[4];
    assert_eq!((unknown, &summary["unknownTool"]), (2, &json!(2)));
    assert_eq!((&summary["notCompared"], &summary["notLogged"]), (&json!(1), &json!(2)));
    let denied = Fixture::with(&log).replay_json(&["--deny", "grep"]);
    assert_eq!(denied[4]["unknownTool"], 0, "a denied call does not get as far");
}

#[test]
fn a_difference_that_would_take_too_long_is_cut_and_says_so() {
    let old: String = (0..300_000).map(|line| format!("x{line}\n")).collect();
    let fixture = Fixture::with(&Log::new().bash("seq 1 10000").result(&old).bash("echo b").result("a\n"));
    let start = Instant::now();
    let ran = fixture.replay(&["--yes", "--diff"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(start.elapsed() < Duration::from_secs(300), "{:?}", start.elapsed());
    let cut = "the comparison was cut off after 1 s, so lines that are the same can be shown as different";
    assert_eq!(ran.stdout.matches(cut).count(), 1, "{}", ran.stdout);
}

#[test]
fn a_log_without_calls_needs_no_yes() {
    let ran = Fixture::with(&Log::new()).replay(&[]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("0 calls"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\n\nnothing to run: the log has no calls\n"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("\n\n\n"), "{}", ran.stdout);
    let lines = Fixture::with(&Log::new()).replay_json(&[]);
    assert_eq!((lines.len(), &lines[1]["calls"]), (2, &json!(0)));
}

#[test]
fn an_error_that_the_log_does_not_have_is_told() {
    let log =
        Log::new().call("bash", "{\"command\":\"echo hi\"}").read("missing").result("text").bash("echo ok");
    let fixture = Fixture::with(&log);
    let ran = fixture.replay(&["--yes"]);
    assert!(ran.stdout.contains("\n     Error: invalid arguments: missing required"), "{}", ran.stdout);
    assert!(ran.stdout.contains("missing\": not found\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("errors that the log does not have: 2\n"), "{}", ran.stdout);
    assert_eq!(fixture.replay_json(&[])[4]["errors"], 2);
    let none = Fixture::with(&Log::new().bash("echo ok").call("grep", "{}").result("x"));
    assert_eq!(none.replay_json(&[])[3]["errors"], 0);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let fixture = Fixture::with(&Log::new().bash("true"));
    let log = fixture.log().display().to_string();
    for arguments in [&["replay", "--yes", &log][..], &["replay", "--yes", "--json", &log], &["plugins"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = fixture.command().args(arguments).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.starts_with("dsh: error: cannot write the output: "), "{stderr}");
    }
    fixture.assert_tidy();
}

// spec: cases/T2
#[test]
fn arguments_that_could_be_read_in_two_ways_are_not_run() {
    let fixture = Fixture::new();
    let mark = fixture.path("ran");
    let arguments = format!(r#"{{"command":"true","command":"touch {}","description":"x"}}"#, mark.display());
    std::fs::write(fixture.log(), Log::new().call("bash", &arguments).text()).unwrap();
    let lines = fixture.replay_json(&[]);
    assert_eq!(lines[1]["code"], "INVALID_ARGS");
    assert!(!mark.exists());
}

// spec: cases/P2
#[test]
fn a_command_that_leaves_a_process_behind_does_not_hold_the_replay_up() {
    let fixture = Fixture::with(&Log::new().bash("sleep 300 & echo hi").result("hi\n"));
    let start = Instant::now();
    let lines = fixture.replay_json(&[]);
    assert_eq!(lines[1]["verdict"], "same");
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
    fixture.assert_tidy();
}

#[test]
fn what_commands_leave_behind_ends_with_the_replay() {
    let fixture = Fixture::new();
    let beat = fixture.path("beat");
    let command =
        format!("(while :; do echo x >> {}; sleep 0.01; done) >/dev/null 2>&1 & echo hi", beat.display());
    std::fs::write(fixture.log(), Log::new().bash(&command).result("hi\n").text()).unwrap();
    assert_eq!(fixture.replay_json(&[])[1]["verdict"], "same");
    let size = || std::fs::metadata(&beat).map_or(0, |file| file.len());
    let before = size();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(), before);
}

#[test]
fn a_folder_that_a_command_made_unwritable_is_removed_too() {
    let fixture =
        Fixture::with(&Log::new().bash("mkdir -p a/b && touch a/b/c && chmod 000 a/b && chmod 555 a"));
    assert_eq!(fixture.replay(&["--yes"]).code, Some(0));
    fixture.assert_tidy();
}

#[test]
fn a_reader_that_goes_away_ends_the_replay_quietly() {
    let log = (0..50).fold(Log::new(), |log, _| log.bash("true"));
    let fixture = Fixture::with(&log);
    let mut command = fixture.command();
    let mut child = command.args(["replay", "--yes"]).arg(fixture.log()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(1), ""));
    fixture.assert_tidy();
}
