//! A log that comes by standard input.

use std::fs;

use crate::fixture::{Fixture, Log};

#[test]
fn a_log_can_come_by_standard_input() {
    let fixture = Fixture::with(&Log::new().bash("cat; echo hi").result("hi\n"));
    let ran = fixture.replay_piped(&["--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.starts_with("replay standard input\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("same result as logged: 1"), "{}", ran.stdout);
    let json = fixture.replay_piped(&["--yes", "--json"]);
    assert!(json.stdout.starts_with("{\"type\":\"plan\",\"file\":\"-\","), "{}", json.stdout);
}

#[test]
fn a_log_from_standard_input_needs_a_yes_on_the_command_line() {
    let fixture = Fixture::new();
    let mark = fixture.path("ran");
    let command = format!("touch {}", mark.display());
    fs::write(fixture.log(), Log::new().bash(&command).text()).unwrap();
    let ran = fixture.replay_piped(&[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.contains(&command), "the commands are listed: {}", ran.stdout);
    let says = "the log came by standard input, so nobody can be asked: read the list above and give --yes";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
    assert!(!mark.exists());
    fixture.assert_tidy();
}

#[test]
fn standard_input_is_named_where_it_is_wrong() {
    let ran = Fixture::with_text(format!("{}nonsense\n", Log::new().text())).replay_piped(&["--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("standard input: line 3: "), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_called_like_standard_input_can_be_named() {
    let fixture = Fixture::new();
    fs::write(fixture.path("-"), Log::new().text()).unwrap();
    let mut command = fixture.command();
    let output = command.args(["replay", "./-"]).current_dir(fixture.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("replay ./-\n"));
}
