//! States that were set aside and are taken up again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dsh_session::Event;
use dsh_session_projection::{RestoreError, Row, Rows};
use serde_json::{Value, json};

use crate::fixture::{Events, Fixture, Turns, log};

/// Four turns.
fn turns() -> Vec<Arc<Event>> {
    let data: Vec<String> = (1..5).map(|turn| format!(r#"{{"turn":{turn}}}"#)).collect();
    log(&data.iter().map(|data| ("turn/start", 0, data.as_str())).collect::<Vec<_>>())
}

fn row(ver: u32, seq: i64, val: Value) -> Row {
    Row { ver, seq, val }
}

/// A row of each unit of the fixture, with events up to `seq`.
fn rows_at(fixture: &Fixture, seq: i64) -> Rows {
    let count = usize::try_from(seq + 1).unwrap();
    fixture.projections.get().unwrap().restore(&Rows::new(), &turns()[..count], 0).unwrap().rows
}

async fn fixture() -> (Fixture, Turns) {
    let (fixture, unit) = (Fixture::new().await, Turns::default());
    fixture.register(unit.clone());
    fixture.register(Events);
    (fixture, unit)
}

// spec: session/S114
#[tokio::test]
async fn the_floor_is_one_before_what_the_unit_farthest_behind_needs() {
    let (fixture, _) = fixture().await;
    let projections = fixture.projections.get().unwrap();
    let mut rows = rows_at(&fixture, 2);
    assert_eq!(projections.restore_floor(&rows), Some(2));
    rows.get_mut("turns").unwrap().seq = 1;
    assert_eq!(projections.restore_floor(&rows), Some(1));
    rows.get_mut("turns").unwrap().seq = 0;
    assert_eq!(projections.restore_floor(&rows), Some(0));
    rows.get_mut("turns").unwrap().seq = -1;
    assert_eq!(projections.restore_floor(&rows), Some(0));
    let mut other_version = rows_at(&fixture, 2);
    other_version.get_mut("turns").unwrap().ver = 2;
    assert_eq!(projections.restore_floor(&other_version), Some(0));
    assert_eq!(projections.restore_floor(&Rows::new()), Some(0));
}

// spec: session/S114
#[tokio::test]
async fn rows_and_the_events_after_them_come_to_what_the_whole_log_does() {
    let (fixture, unit) = fixture().await;
    let projections = fixture.projections.get().unwrap();
    let whole = projections.restore(&Rows::new(), &turns(), 0).unwrap();
    assert_eq!((whole.snapshot.as_of_seq, &whole.snapshot.values["turns"]), (3, &json!(4)));
    assert_eq!(whole.rows["turns"], row(3, 3, json!(4)));
    for seq in -1..4 {
        let rows = rows_at(&fixture, seq);
        let floor = projections.restore_floor(&rows).unwrap();
        unit.applied.store(0, Ordering::Relaxed);
        let rest = &turns()[usize::try_from(floor).unwrap()..];
        assert_eq!(projections.restore(&rows, rest, floor).unwrap(), whole, "from {seq}");
        assert_eq!(unit.applied.load(Ordering::Relaxed) as i64, 3 - seq, "only what is new is folded");
    }
}

// spec: session/S114
#[tokio::test]
async fn a_row_counts_if_its_version_fits_and_the_events_continue_it() {
    let (fixture, _) = fixture().await;
    let projections = fixture.projections.get().unwrap();
    // The row says 9, so what comes out tells whether it counted.
    let with = |ver: u32, seq: i64, first: usize, end: usize| {
        let mut rows = rows_at(&fixture, i64::try_from(first).unwrap());
        rows.insert("turns".to_owned(), row(ver, seq, json!(9)));
        let restored = projections.restore(&rows, &turns()[first..end], first as u64);
        restored.map(|restored| restored.snapshot.values["turns"].clone())
    };
    let unusable = Err(RestoreError::Unusable { key: "turns", base: 2 });
    assert_eq!(with(3, 1, 2, 4), Ok(json!(11)), "ends right before the first event");
    assert_eq!(with(3, 3, 2, 4), Ok(json!(9)), "ends with the last event");
    assert_eq!(with(3, 0, 2, 4), unusable, "leaves a gap");
    assert_eq!(with(3, 4, 2, 4), unusable, "is ahead of the log");
    assert_eq!(with(2, 1, 2, 4), unusable, "is of another version");
    assert_eq!(with(2, 1, 0, 4), Ok(json!(4)), "is of another version, and the log is whole");
    assert_eq!(with(3, 4, 0, 4), Ok(json!(4)), "is ahead of the log, which is whole");
    assert_eq!(with(3, -2, 0, 4), Ok(json!(4)), "was never written by a unit");
}

// spec: session/S114
#[tokio::test]
async fn a_state_that_cannot_be_read_is_an_error() {
    let (fixture, _) = fixture().await;
    let rows = Rows::from([("turns".to_owned(), row(3, 0, json!("four")))]);
    let refused = fixture.projections.get().unwrap().restore(&rows, &turns(), 0);
    assert!(matches!(refused, Err(RestoreError::Malformed { key: "turns", .. })), "{refused:?}");
}

#[tokio::test]
async fn events_with_a_gap_are_an_error() {
    let (fixture, _) = fixture().await;
    let events: Vec<_> = turns().into_iter().skip(1).collect();
    let refused = fixture.projections.get().unwrap().restore(&Rows::new(), &events, 0);
    assert_eq!(refused, Err(RestoreError::Gap { expected: 0, found: 1 }));
}
