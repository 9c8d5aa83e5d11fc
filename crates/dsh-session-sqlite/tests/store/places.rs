//! Where a database may be.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use dsh_session::{Storage as _, StorageError};
use dsh_session_sqlite::{Config, SqliteStore};

use crate::fixture::{Folder, header, stored, turns};

fn refused(path: impl AsRef<Path>) -> String {
    match SqliteStore::new(&Config::new(path.as_ref().to_str().unwrap())) {
        Ok(_) => panic!("the path must be refused"),
        Err(error) => {
            assert!(matches!(error, StorageError::Place { .. }), "{error:?}");
            error.to_string()
        }
    }
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

// spec: session/S104
#[test]
fn what_the_store_makes_is_for_its_user_alone() {
    let folder = Folder::new();
    let inside = Path::new(&folder.path()).with_file_name("a").join("b");
    let path = inside.join("x.db");
    let store = SqliteStore::new(&Config::new(path.to_str().unwrap())).unwrap();
    assert!(!inside.exists(), "nothing is made before it is needed");
    let _writer = store.create(&header(), &[]).unwrap();
    for made in [&inside, inside.parent().unwrap(), &inside.join("x.db-writers")] {
        assert_eq!(mode(made), 0o700, "{}", made.display());
    }
    for made in ["x.db", "x.db-wal", "x.db-shm", "x.db-writers/s.lock"] {
        assert_eq!(mode(inside.join(made)), 0o600, "{made}");
    }
}

// spec: session/S104
#[test]
fn a_file_that_others_can_get_at_is_refused_at_once() {
    let folder = Folder::new();
    drop(stored(&folder, &turns(1)));
    for wrong in [0o604, 0o620, 0o610, 0o666] {
        set_mode(folder.path(), wrong);
        let error = refused(folder.path());
        assert!(error.contains(&format!("mode {wrong:o}")) && error.contains("chmod go= "), "{error}");
    }
    set_mode(folder.path(), 0o600);
    assert_eq!(folder.store().list().unwrap().len(), 1);
    fs::write(folder.path() + "-wal", "").unwrap();
    set_mode(folder.path() + "-wal", 0o644);
    assert!(refused(folder.path()).contains("-wal is open to other users"));
}

// spec: session/S104
#[test]
fn a_folder_that_others_can_write_to_is_refused_at_once() {
    let folder = Folder::new();
    let inside = Path::new(&folder.path()).with_file_name("a");
    fs::create_dir(&inside).unwrap();
    for (mode, fits) in [(0o770, false), (0o702, false), (0o755, true), (0o700, true)] {
        set_mode(&inside, mode);
        let store = SqliteStore::new(&Config::new(inside.join("x.db").to_str().unwrap()));
        assert_eq!(store.is_ok(), fits, "{mode:o}");
    }
    set_mode(&inside, 0o777);
    assert!(refused(inside.join("x.db")).contains("chmod go-w "));
}

// spec: session/S104
#[test]
fn a_link_as_the_file_or_as_its_folder_is_refused_at_once() {
    let folder = Folder::new();
    drop(stored(&folder, &turns(1)));
    let beside = |name: &str| Path::new(&folder.path()).with_file_name(name);
    symlink(folder.path(), beside("link.db")).unwrap();
    assert!(refused(beside("link.db")).contains("symbolic link"));
    symlink(beside("nowhere"), beside("dangling.db")).unwrap();
    assert!(refused(beside("dangling.db")).contains("symbolic link"));
    symlink(beside(""), beside("folder")).unwrap();
    assert!(refused(beside("folder").join("sessions.db")).contains("symbolic link"));
}

#[test]
fn a_link_further_up_is_followed_and_a_writer_by_the_other_way_is_seen() {
    let folder = Folder::new();
    let beside = |name: &str| Path::new(&folder.path()).with_file_name(name);
    fs::create_dir_all(beside("a").join("b")).unwrap();
    symlink(beside("a"), beside("link")).unwrap();
    let store = |name: &str| {
        let path = beside(name).join("b").join("x.db");
        SqliteStore::new(&Config::new(path.to_str().unwrap())).unwrap()
    };
    let writer = store("link").create(&header(), &[]).unwrap();
    assert!(matches!(store("a").open("s"), Err(StorageError::Busy { .. })));
    drop(writer);
    assert!(store("a").open("s").unwrap().is_some());
}

// spec: session/S104
#[test]
fn what_becomes_wrong_after_the_start_is_seen_when_the_database_is_opened() {
    let folder = Folder::new();
    let store = folder.store();
    symlink("/etc/passwd", folder.path()).unwrap();
    assert!(store.list().unwrap_err().to_string().contains("symbolic link"));
    fs::remove_file(folder.path()).unwrap();
    fs::write(folder.path(), "").unwrap();
    set_mode(folder.path(), 0o640);
    assert!(store.list().unwrap_err().to_string().contains("mode 640"));
    set_mode(folder.path(), 0o600);
    assert!(store.list().unwrap().is_empty(), "and the store works when it is put right");
}

// spec: session/S104
#[test]
fn what_belongs_to_somebody_else_is_refused_at_once() {
    let folder = Folder::new();
    drop(stored(&folder, &turns(1)));
    if fs::metadata(folder.path()).unwrap().uid() == 0 {
        chown(folder.path(), Some(12_345), None).unwrap();
        assert!(refused(folder.path()).contains("belongs to user 12345"));
    } else {
        assert!(refused("/sessions.db").contains("belongs to user 0"));
    }
}

// spec: session/S104
#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = Folder::new();
    let beside = |name: &str| Path::new(&folder.path()).with_file_name(name);
    fs::create_dir(beside("folder.db")).unwrap();
    assert!(refused(beside("folder.db")).contains("no regular file"));
    fs::write(beside("file"), "").unwrap();
    assert!(refused(beside("file").join("a.db")).contains("no folder"));
    assert!(refused(beside("file").join("a").join("b.db")).contains("cannot be used"));
    assert!(refused("/").contains("must name a file"));
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let folder = Folder::new();
    let store = stored(&folder, &turns(1));
    let target = Path::new(&folder.path()).with_file_name("target");
    fs::write(&target, "kept").unwrap();
    symlink(&target, folder.path() + "-writers/s.lock").unwrap();
    assert!(matches!(store.open("s"), Err(StorageError::Io { .. })));
    assert_eq!(fs::read_to_string(target).unwrap(), "kept");
}
