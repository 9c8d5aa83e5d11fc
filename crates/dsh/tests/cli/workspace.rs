//! Replaying in a copy of a folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use crate::fixture::{Fixture, Log, entries};

#[test]
fn the_calls_see_the_files_of_the_folder_and_change_only_the_copy() {
    let fixture =
        Fixture::with(&Log::new().read("a/x").bash("cat a/x; rm -r a; echo new > y; ls").result("one\ny\n"));
    let folder = fixture.path("folder");
    fs::create_dir_all(folder.join("a")).unwrap();
    fs::write(folder.join("a/x"), "one\n").unwrap();
    let lines = fixture.replay_json(&["--workspace", &folder.display().to_string()]);
    assert!(lines[1]["content"].as_str().unwrap().contains("/home/user/project/a/x"));
    assert_eq!(lines[2]["verdict"], "same", "{}", lines[2]);
    assert_eq!(entries(&folder), [folder.join("a")]);
    assert_eq!(fs::read(folder.join("a/x")).unwrap(), b"one\n");
    fixture.assert_tidy();
}

#[test]
fn links_stay_links_and_what_cannot_be_copied_is_named() {
    let fixture =
        Fixture::with(&Log::new().bash("readlink out; ls").result("/etc/passwd\nin\nout\n").read("out"));
    let folder = fixture.path("folder");
    fs::create_dir(&folder).unwrap();
    symlink("nowhere", folder.join("in")).unwrap();
    symlink("/etc/passwd", folder.join("out")).unwrap();
    let _socket = UnixListener::bind(folder.join("socket")).unwrap();
    let ran = fixture.replay(&["--yes", "--workspace", &folder.display().to_string()]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("same result as logged: 1"), "{}", ran.stdout);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines.iter().any(|line| line.contains("skipped") && line.ends_with(": socket")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("lead out") && line.ends_with(": out")), "{lines:?}");
}

#[test]
fn a_folder_that_is_none_is_refused() {
    let fixture = Fixture::with(&Log::new().bash("true"));
    for folder in [fixture.path("missing"), fixture.log()] {
        let ran = fixture.replay(&["--yes", "--workspace", &folder.display().to_string()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(ran.stderr.contains(&folder.display().to_string()), "{}", ran.stderr);
    }
    fixture.assert_tidy();
}
