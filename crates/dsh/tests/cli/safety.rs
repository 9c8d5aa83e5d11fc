//! A log is a stranger's: what it says is shown before it is done, and cannot do anything by being shown.

use std::fs;

use serde_json::json;

use crate::fixture::{Fixture, Log, entries};

#[test]
fn without_a_terminal_nothing_runs_until_yes_is_given() {
    let fixture = Fixture::new();
    let mark = fixture.path("ran");
    let command = format!("touch {}", mark.display());
    fs::write(fixture.log(), Log::new().bash(&command).text()).unwrap();
    for options in [&[][..], &["--json"]] {
        let ran = fixture.replay(options);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stdout.contains(&command), "the commands are listed: {}", ran.stdout);
        assert!(ran.stderr.contains("--yes"), "the remedy is named: {}", ran.stderr);
        assert!(!mark.exists());
        fixture.assert_tidy();
    }
    assert_eq!(fixture.replay(&["--yes"]).code, Some(0));
    assert!(mark.exists());
}

#[test]
fn all_commands_are_listed_whole_before_the_first_one_runs() {
    let long = format!("echo {} # the end", "x".repeat(500));
    let fixture = Fixture::with(&Log::new().bash("echo one\necho two").bash(&long));
    let stdout = fixture.replay(&["--yes"]).stdout;
    let list = stdout.split("turn 1").next().unwrap();
    assert!(list.contains("1  bash  echo one\n         | echo two\n"), "{list}");
    assert!(list.contains(&format!("2  bash  {long}\n")), "{list}");
}

#[test]
fn the_folder_that_the_log_names_is_never_touched() {
    let fixture = Fixture::new();
    let folder = fixture.path("project");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("precious"), "mine").unwrap();
    let named = folder.join("precious").display().to_string();
    let workdir = json!({ "command": "rm -f precious; echo x > new", "description": "x", "workdir": folder })
        .to_string();
    let log = Log::in_folder(&folder)
        .bash("rm -rf precious ./*; echo other > precious")
        .read("precious")
        .read(&named)
        .call("bash", &workdir)
        .bash("ls");
    fs::write(fixture.log(), log.text()).unwrap();
    let lines = fixture.replay_json(&[]);
    for call in [2, 3] {
        let content = lines[call]["content"].as_str().unwrap();
        assert!(content.contains("1: other") && content.contains(&named), "{content}");
    }
    assert_eq!(lines[5]["content"], "new\n");
    assert_eq!(entries(&folder), [folder.join("precious")]);
    assert_eq!(fs::read_to_string(folder.join("precious")).unwrap(), "mine");
}

#[test]
fn reads_outside_of_the_workspace_are_refused() {
    let fixture = Fixture::new();
    fs::write(fixture.path("secret"), "secret").unwrap();
    let secret = fixture.path("secret").display().to_string();
    let log =
        Log::new().read(&secret).bash(&format!("ln -s {secret} link")).read("link").read("../../secret");
    fs::write(fixture.log(), log.text()).unwrap();
    let lines = fixture.replay_json(&[]);
    for call in [1, 3, 4] {
        assert_eq!(lines[call]["code"], "FS_SANDBOX_DENIED", "{}", lines[call]);
    }
}

/// Clears the screen, rings, goes back to the line's start, and turns the text around.
const HOSTILE: &str = "\x1b[2J\x07\r\u{9b}31m\u{202e}";

#[track_caller]
fn assert_harmless(text: &str) {
    let found = text.chars().find(|char| char.is_control() && *char != '\n' || *char == '\u{202e}');
    assert_eq!(found, None, "{text:?}");
}

#[test]
fn control_characters_of_a_log_are_shown_as_text() {
    let log = Log::in_folder(format!("/home/{HOSTILE}").as_ref())
        .bash(&format!("echo {HOSTILE}"))
        .result(&format!("old {HOSTILE}"))
        .call(&format!("tool{HOSTILE}"), HOSTILE)
        .result(HOSTILE);
    let fixture = Fixture::with_text(log.text().replace("s-1", "s-\\u001b[31m"));
    let ran = fixture.replay(&["--yes", "--diff"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_harmless(&ran.stdout);
    assert!(ran.stdout.contains("\\u{1b}[2J\\u{7}\\r\\u{9b}31m\\u{202e}"), "{}", ran.stdout);
    let json = fixture.replay(&["--yes", "--json"]);
    assert_harmless(&json.stdout);
    for line in json.stdout.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[test]
fn control_characters_in_an_error_are_shown_as_text() {
    let log = Log::new().event(&format!("made{HOSTILE}/up"), json!({}), json!({}));
    let ran = Fixture::with(&log).replay(&["--yes"]);
    assert_eq!(ran.code, Some(2));
    assert_harmless(&ran.stderr);
}
