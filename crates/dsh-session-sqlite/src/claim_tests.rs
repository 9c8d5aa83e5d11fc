#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use dsh_session::StorageError;

use super::{Claims, MAX_NAME, file_name};
use crate::place::Place;

#[test]
fn four_who_take_and_give_back_never_have_it_together() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::File(folder.path().join("x.db"));
    let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let end = Instant::now() + Duration::from_millis(1_500);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                // A table of its own, as in another process: only the file is between them.
                let claims = Arc::new(Claims::new(&place));
                while Instant::now() < end {
                    match claims.take("s") {
                        Ok(claim) => {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            taken.fetch_add(1, SeqCst);
                            std::thread::sleep(Duration::from_micros(20));
                            inside.fetch_sub(1, SeqCst);
                            drop(claim);
                        }
                        Err(StorageError::Busy { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert!(taken.load(SeqCst) > 100, "{taken:?}");
}

#[test]
fn names_are_short_and_long_ids_that_begin_alike_have_different_ones() {
    let long = "a".repeat(1_000);
    let (one, two) = (file_name(&(long.clone() + "1")), file_name(&(long + "2")));
    assert!(one.len() <= MAX_NAME + 10);
    assert_ne!(one, two);
    assert_eq!(file_name("../~\u{e9}"), "..~002F~007E~00E9.lock");
}
