//! The states of live sessions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cordis::testing::Recorder;
use dsh_session::{CreateSession, EVENT, Event, Seed, Session};
use dsh_session_projection::{CHANGED, Changed, Row, Unit};
use serde_json::{Value, json};

use crate::fixture::{Events, Fixture, Turns, other, turn_start};

fn told(changed: &Changed) -> (&'static str, u64, Value) {
    (changed.key, changed.seq, changed.value.clone())
}

// spec: session/S111
#[tokio::test]
async fn a_state_is_built_from_the_whole_log_when_it_is_first_wanted() {
    let fixture = Fixture::new().await;
    fixture.turn(1);
    fixture.turn(2);
    let unit = Turns::default();
    fixture.register(unit.clone());
    assert_eq!(unit.applied.load(Ordering::Relaxed), 0);
    assert_eq!(fixture.shown("turns"), Some(json!(2)));
    assert_eq!(unit.applied.load(Ordering::Relaxed), 2);
}

// spec: session/S111
#[tokio::test]
async fn every_unit_takes_every_event_once() {
    let fixture = Fixture::new().await;
    let unit = Turns::default();
    fixture.register(unit.clone());
    fixture.turn(1);
    fixture.session.append(other()).unwrap();
    fixture.turn(2);
    assert_eq!(unit.applied.load(Ordering::Relaxed), 3);
    assert_eq!(fixture.shown("turns"), Some(json!(2)));
    assert_eq!(unit.applied.load(Ordering::Relaxed), 3, "a reader finds the state as it is");
}

// spec: session/S111
#[tokio::test]
async fn sessions_have_states_of_their_own_and_a_seed_counts() {
    let fixture = Fixture::new().await;
    fixture.register(Turns::default());
    fixture.turn(1);
    let seed = Seed::new(fixture.session.events().iter().cloned());
    let store = fixture.sessions.get().unwrap();
    let fork =
        store.create(&fixture.app, CreateSession { seed: Some(seed), ..CreateSession::default() }).unwrap();
    fork.append(turn_start(2)).unwrap();
    let snapshot = fixture.projections.get().unwrap().snapshot(&fork);
    // The turn, the mark of the seed's end, and the second turn.
    assert_eq!((snapshot.as_of_seq, &snapshot.values["turns"]), (2, &json!(2)));
    assert_eq!(fixture.shown("turns"), Some(json!(1)));
}

// spec: session/S113
#[tokio::test]
async fn a_snapshot_says_how_far_it_goes_and_shows_only_what_has_a_view() {
    let fixture = Fixture::new().await;
    fixture.register(Turns::default());
    fixture.register(Events);
    let projections = fixture.projections.get().unwrap();
    let empty = projections.snapshot(&fixture.session);
    assert_eq!(empty.as_of_seq, -1);
    assert_eq!(empty.values.keys().collect::<Vec<_>>(), ["sessionStats", "turns"]);
    fixture.turn(1);
    let written = serde_json::to_value(projections.snapshot(&fixture.session)).unwrap();
    assert_eq!((&written["asOfSeq"], &written["values"]["turns"]), (&json!(0), &json!(1)));
    assert_eq!(projections.state_of::<Events>(&fixture.session), Some(1));
}

// spec: session/S113
#[tokio::test]
async fn what_changes_is_told_with_its_value_and_its_event() {
    let fixture = Fixture::new().await;
    fixture.register(Turns::default());
    fixture.register(Events);
    let changes = Recorder::of(&fixture.app, CHANGED, told).unwrap();
    fixture.turn(1);
    fixture.session.append(other()).unwrap();
    fixture.turn(2);
    assert_eq!(changes.take(), [("turns", 0, json!(1)), ("turns", 2, json!(2))]);
}

// spec: session/S113
#[tokio::test]
async fn a_change_is_told_even_if_a_reader_was_first_to_fold_it() {
    let fixture = Fixture::new().await;
    fixture.register(Turns::default());
    let changes = Recorder::of(&fixture.app, CHANGED, told).unwrap();
    let projections = fixture.projections.clone();
    fixture
        .app
        .on(EVENT)
        .prepend()
        .run(move |added| {
            let projections = projections.get().unwrap();
            assert_eq!(projections.state_of::<Turns>(&added.session), Some(1));
        })
        .unwrap();
    fixture.turn(1);
    assert_eq!(changes.take(), [("turns", 0, json!(1))]);
    fixture.app.assert_no_errors();
}

#[tokio::test]
async fn changes_are_told_to_the_owner_of_the_session_and_not_to_other_agents() {
    let fixture = Fixture::new().await;
    fixture.register(Turns::default());
    let stranger = fixture.app.scope().unwrap();
    let heard = |ctx: &cordis::Context| {
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = count.clone();
        ctx.on(CHANGED)
            .run(move |_: &Changed| {
                counted.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        count
    };
    let (own, other) = (heard(fixture.agent.context()), heard(stranger.context()));
    fixture.turn(1);
    assert_eq!((own.load(Ordering::Relaxed), other.load(Ordering::Relaxed)), (1, 0));
}

// spec: session/S113
#[tokio::test]
async fn a_checkpoint_holds_every_unit_and_does_not_change_with_the_log() {
    let fixture = Fixture::new().await;
    fixture.register(Turns::default());
    fixture.register(Events);
    let projections = fixture.projections.get().unwrap();
    assert_eq!(projections.checkpoint(&fixture.session)["turns"], Row { ver: 3, seq: -1, val: json!(0) });
    fixture.turn(1);
    let rows = projections.checkpoint(&fixture.session);
    fixture.turn(2);
    assert_eq!(rows["turns"], Row { ver: 3, seq: 0, val: json!(1) });
    assert_eq!(rows["events"], Row { ver: 0, seq: 0, val: json!(1) });
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["events", "sessionStats", "turns"]);
    assert_eq!(serde_json::to_value(&rows["turns"]).unwrap(), json!({ "ver": 3, "seq": 0, "val": 1 }));
}

/// Fails at the second event.
struct Fragile;

impl Unit for Fragile {
    const KEY: &'static str = "fragile";
    const STATE_VERSION: u32 = 0;
    type State = u64;
    type View = u64;

    fn init(&self) -> u64 {
        0
    }

    fn apply(&self, _: &u64, event: &Event) -> Option<u64> {
        assert_ne!(event.seq(), 1, "no second event");
        Some(event.seq())
    }

    fn view(&self, state: &u64) -> Option<u64> {
        Some(*state)
    }
}

#[tokio::test]
async fn a_unit_that_panics_is_left_out_and_the_others_go_on() {
    let fixture = Fixture::new().await;
    fixture.register(Fragile);
    fixture.register(Turns::default());
    fixture.turn(1);
    assert_eq!(fixture.shown("fragile"), Some(json!(0)));
    let changes = Recorder::of(&fixture.app, CHANGED, told).unwrap();
    fixture.turn(2);
    fixture.turn(3);
    assert_eq!(fixture.shown("fragile"), None);
    assert_eq!(fixture.projections.get().unwrap().state_of::<Fragile>(&fixture.session), None);
    assert_eq!(changes.take(), [("turns", 1, json!(2)), ("turns", 2, json!(3))]);
}

#[tokio::test]
async fn a_listener_of_a_change_may_read_and_register() {
    let fixture = Fixture::new().await;
    fixture.register(Turns::default());
    let (projections, root) = (fixture.projections.clone(), fixture.app.root());
    fixture
        .app
        .on(CHANGED)
        .run(move |changed| {
            let projections = projections.get().unwrap();
            assert_eq!(projections.snapshot(&changed.session).values["turns"], changed.value);
            projections.register(&root, Events).unwrap();
        })
        .unwrap();
    fixture.turn(1);
    fixture.app.assert_no_errors();
    assert_eq!(fixture.projections.get().unwrap().state_of::<Events>(&fixture.session), Some(1));
}

#[tokio::test]
async fn a_session_that_is_not_live_can_be_read_and_is_not_kept() {
    let fixture = Fixture::new().await;
    let unit = Turns::default();
    fixture.register(unit.clone());
    let session = Session::detached("s-1");
    session.append(turn_start(1)).unwrap();
    let projections = fixture.projections.get().unwrap();
    for reads in 1..3 {
        assert_eq!(projections.snapshot(&session).values["turns"], json!(1));
        assert_eq!(unit.applied.load(Ordering::Relaxed), reads);
    }
}

#[tokio::test]
async fn states_go_with_their_session() {
    let fixture = Fixture::new().await;
    let unit = Turns::default();
    fixture.register(unit.clone());
    fixture.turn(1);
    fixture.agent.close().await;
    assert_eq!(Arc::strong_count(&fixture.session), 1);
    assert_eq!(fixture.shown("turns"), Some(json!(1)));
    assert_eq!(unit.applied.load(Ordering::Relaxed), 2, "folded again, as nothing was kept");
}

#[tokio::test]
async fn unloaded_it_folds_nothing_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    fixture.turn(1);
    let disposed = fixture.plugin.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert!(fixture.projections.get().is_err());
    assert_eq!(fixture.app.listeners(EVENT), 0);
    fixture.turn(2);
}
