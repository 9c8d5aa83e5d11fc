//! The folders of projects and sessions.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::path::PathBuf;

use dsh_session::{Location, SessionHeader, Storage as _, StorageError};
use dsh_session_jsonl::{Compression, PathError, project_folder, session_folder};
use proptest::prelude::*;
use support::{BOTH, file_name, quick};

// spec: session/S90
#[test]
fn a_project_is_named_after_the_folder_that_its_sessions_work_in() {
    let names = [
        ("/", "--root--"),
        ("//", "--root--"),
        ("/home/x", "--home-x--"),
        ("/home/x/", "--home-x---"),
        ("/home//x", "--home-x--"),
        ("C:\\Users\\Me", "--C-Users-Me--"),
        ("C:/a:b", "--C-a-b--"),
        ("/a b", "--a~0020b--"),
        ("/a~b", "--a~007Eb--"),
        ("/-a", "--a--"),
        ("/--", "--root--"),
        ("/a-/b", "--a--b--"),
        ("/.", "--.--"),
        ("/..", "--..--"),
        ("/.hidden", "--.hidden--"),
        ("/\u{e9}", "--~00E9--"),
        ("/\u{65e5}\u{672c}", "--~65E5~672C--"),
        ("/\u{1f600}", "--~D83D~DE00--"),
        ("/a\nb", "--a~000Ab--"),
        ("/a\0b", "--a~0000b--"),
        ("/%41", "--~002541--"),
        ("/a*?\"<>|", "--a~002A~003F~0022~003C~003E~007C--"),
        ("/A", "--A--"),
        ("/a", "--a--"),
        ("/ab_c.d-e", "--ab_c.d-e--"),
        ("/_no-cwd", "--_no-cwd--"),
        ("/a---b", "--a---b--"),
        ("/-/-/b", "--b--"),
        ("/ -", "--~0020---"),
        ("/\u{e9}-", "--~00E9---"),
        ("rel", "--rel--"),
    ];
    for (cwd, folder) in names {
        assert_eq!(project_folder(Some(cwd)).unwrap(), folder, "{cwd:?}");
    }
    assert_eq!(project_folder(None).unwrap(), "_no-cwd");
    assert_eq!(project_folder(Some("")), Err(PathError::EmptyCwd));
}

// spec: session/S90
#[test]
fn the_name_of_a_project_is_cut_even_within_a_coded_character() {
    let of = |cwd: String| project_folder(Some(&cwd)).unwrap();
    let x = |count: usize| "x".repeat(count);
    assert_eq!(of(format!("/{}", x(300))), format!("--{}--", x(251)));
    assert_eq!(of(format!("/{}", "\u{e9}".repeat(60))), format!("--{}~--", "~00E9".repeat(50)));
    assert_eq!(of(format!("/{}/{}", x(250), x(1))), format!("--{}---", x(250)));
    assert_eq!(of(format!("/{} ", x(249))), format!("--{}~0--", x(249)));
}

// spec: session/S91
#[test]
fn a_session_is_named_after_its_id() {
    let names = [
        ("a", "a"),
        ("a.b", "a.b"),
        (".", "~002E"),
        ("..", "~002E~002E"),
        ("...", "..."),
        (".a", ".a"),
        ("a~b", "a~007Eb"),
        ("~", "~007E"),
        ("a/b", "a~002Fb"),
        ("a\\b", "a~005Cb"),
        ("a b", "a~0020b"),
        ("\u{e9}", "~00E9"),
        ("\u{1f600}", "~D83D~DE00"),
        ("A", "A"),
        ("con", "con"),
        ("a:b", "a~003Ab"),
        ("-", "-"),
        ("_", "_"),
        ("a\0b", "a~0000b"),
        ("%", "~0025"),
        ("session-1", "session-1"),
        ("a\n", "a~000A"),
        ("*", "~002A"),
        ("A.B_c-9", "A.B_c-9"),
    ];
    for (id, folder) in names {
        assert_eq!(session_folder(id).unwrap(), folder, "{id:?}");
    }
    assert_eq!(session_folder(""), Err(PathError::EmptyId));
    assert_eq!(session_folder(&"x".repeat(300)).unwrap(), "x".repeat(300));
    assert_eq!(session_folder(&"\u{e9}".repeat(60)).unwrap(), "~00E9".repeat(60));
}

/// The id that a folder stands for.
fn id_of(folder: &str) -> String {
    let mut units = Vec::new();
    let mut rest = folder;
    while let Some(first) = rest.chars().next() {
        if let Some(code) = rest.strip_prefix('~') {
            units.push(u16::from_str_radix(&code[..4], 16).unwrap());
            rest = &code[4..];
        } else {
            units.push(first as u16);
            rest = &rest[1..];
        }
    }
    String::from_utf16(&units).unwrap()
}

proptest! {
    // spec: session/S91
    #[test]
    fn no_two_ids_share_a_folder(id in "\\PC{1,8}|[~./A-F0-9]{1,12}|[\u{0}-\u{ff}\u{10000}-\u{10ffff}]{1,6}") {
        let folder = session_folder(&id).unwrap();
        prop_assert_eq!(id_of(&folder), id);
        prop_assert!(folder.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-~".contains(&byte)));
        prop_assert!(folder != "." && folder != "..");
    }

    // spec: session/S90
    #[test]
    fn a_project_is_one_name_in_its_root(cwd in "\\PC{1,300}|[/\\\\:.~-]{1,20}") {
        let folder = project_folder(Some(&cwd)).unwrap();
        prop_assert!(folder.starts_with("--") && folder.ends_with("--") && folder.len() <= 255);
        prop_assert!(folder.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-~".contains(&byte)));
    }
}

// spec: session/S90, S100
#[test]
fn a_log_is_located_before_it_is_there_and_without_a_look() {
    for compression in BOTH {
        let store = quick(&PathBuf::from("/nowhere/at/all"), compression);
        let mut header = SessionHeader::new("a/b", 1);
        header.cwd = Some("/home/x".to_owned());
        let path = PathBuf::from("/nowhere/at/all/--home-x--/a~002Fb").join(file_name(compression));
        assert_eq!(store.locate(&header), Some(Location::Jsonl { path }));
    }
}

// spec: session/S91
#[test]
fn a_session_without_a_name_has_no_place() {
    let root = tempfile::tempdir().unwrap();
    let store = quick(root.path(), Compression::Zstd);
    let header = SessionHeader::new("", 1);
    assert_eq!(store.locate(&header), None);
    assert!(matches!(store.create(&header, &[]).err(), Some(StorageError::Place { .. })));
    assert!(matches!(store.read("").err(), Some(StorageError::Place { .. })));
}

// spec: session/S91
#[test]
fn an_id_that_no_file_system_takes_fails_at_its_first_write_and_leaves_no_session() {
    let root = tempfile::tempdir().unwrap();
    let store = quick(root.path(), Compression::Zstd);
    let header = SessionHeader::new("x".repeat(300), 1);
    assert!(matches!(store.create(&header, &[]).err(), Some(StorageError::Io { .. })));
    assert_eq!(store.list().unwrap(), []);
}
