//! One writer for each session, in this process and among others.

use std::fs::{self, File};

use dsh_session::{SessionHeader, Storage, StorageError};
use dsh_session_sqlite::{Config, SqliteStore};

use crate::fixture::{Folder, events, header, stored, turns};

fn busy(store: &SqliteStore) -> String {
    match store.open("s") {
        Err(error @ StorageError::Busy { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the session must be busy"),
    }
}

fn locks(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path() + "-writers").unwrap();
    names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_second_writer_of_a_store_is_refused_until_the_first_is_dropped() {
    let in_memory = SqliteStore::new(&Config::new(":memory:")).unwrap();
    let folder = Folder::new();
    for store in [in_memory, folder.store()] {
        let first = store.create(&header(), &events(&turns(1))).unwrap();
        let error = busy(&store);
        assert!(error.contains(&format!("this process ({})", std::process::id())), "{error}");
        assert!(store.read("s").unwrap().is_some(), "everybody may read");
        drop(first);
        let second = store.open("s").unwrap().unwrap();
        busy(&store);
        drop(second);
        assert!(store.open("s").unwrap().is_some());
    }
}

#[test]
fn a_writer_of_another_store_of_the_same_database_is_refused_by_the_lock_on_a_file() {
    let folder = Folder::new();
    let (one, two) = (stored(&folder, &turns(1)), folder.store());
    let writer = one.open("s").unwrap().unwrap();
    let error = busy(&two);
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    drop(writer);
    assert!(two.open("s").unwrap().is_some());
}

#[test]
fn two_sessions_do_not_stand_in_each_others_way() {
    let folder = Folder::new();
    let store = stored(&folder, &turns(1));
    let _one = store.open("s").unwrap().unwrap();
    let mut two = store.create(&SessionHeader::new("t", 1), &[]).unwrap();
    two.append(&events(&turns(1))).unwrap();
}

#[test]
fn a_lock_that_another_program_holds_is_busy_and_one_that_was_left_behind_is_free() {
    let folder = Folder::new();
    let store = stored(&folder, &turns(1));
    let path = folder.path() + "-writers/s.lock";
    let other = File::create(&path).unwrap();
    other.lock().unwrap();
    assert!(busy(&store).contains("another process"));
    fs::write(&path, "4711").unwrap();
    assert!(busy(&store).contains("process 4711"));
    drop(other);
    let opened = store.open("s").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), std::process::id().to_string());
    drop(opened);
}

#[cfg(unix)]
#[test]
fn no_lock_stays_when_its_writer_is_gone() {
    let folder = Folder::new();
    let store = stored(&folder, &turns(1));
    assert_eq!(locks(&folder), <[String; 0]>::default());
    let opened = store.open("s").unwrap();
    assert_eq!(locks(&folder), ["s.lock"]);
    drop(opened);
    assert_eq!(locks(&folder), <[String; 0]>::default());
}

#[test]
fn ids_of_any_characters_and_any_length_have_locks_of_their_own() {
    let folder = Folder::new();
    let store = folder.store();
    let long = "é".repeat(4_000);
    let ids = ["..", "a/../../b", "A b", "A~0020b", "\u{1f600}", &long, &(long.clone() + "x")];
    let writers: Vec<_> = ids.map(|id| store.create(&SessionHeader::new(id, 1), &[]).unwrap()).into();
    let mut locks = locks(&folder);
    locks.sort();
    locks.dedup();
    assert_eq!(locks.len(), writers.len());
    assert!(locks.contains(&"A~0020b.lock".to_owned()) && locks.contains(&"A~007E0020b.lock".to_owned()));
    assert!(locks.contains(&"~D83D~DE00.lock".to_owned()));
}

#[test]
fn many_threads_that_want_one_session_never_have_it_together() {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    let folder = Folder::new();
    drop(stored(&folder, &turns(1)));
    let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..6 {
            threads.spawn(|| {
                let store = folder.store();
                for _ in 0..60 {
                    match store.open("s") {
                        Ok(opened) => {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            taken.fetch_add(1, SeqCst);
                            std::thread::yield_now();
                            inside.fetch_sub(1, SeqCst);
                            drop(opened.unwrap());
                        }
                        Err(StorageError::Busy { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert!(taken.load(SeqCst) >= 6);
}
