//! Sessions that leave the store, and those that come after them under the same id.

use crate::host::{Host, pass, say, seeded, texts, until};
use crate::memory::Fault;

// spec: session/S86
#[tokio::test(start_paused = true)]
async fn a_session_that_goes_is_written_to_its_end_and_its_log_released() {
    let host = Host::new().await;
    let (session, effect) = host.live("s");
    say(&session, "a");
    host.flush(&session).await.unwrap();
    assert_eq!(host.disk.claims(), 1);
    say(&session, "b");
    let hold = host.disk.hold("s");
    pass(200).await;
    until("a write is on its way", || host.disk.waiting() == 1).await;
    say(&session, "c");
    effect.dispose().await;
    say(&session, "told to nobody");
    drop(hold);
    until("the claim is given up", || host.disk.claims() == 0).await;
    assert_eq!(texts(host.disk.events("s")), ["a", "b", "c"]);
    assert_eq!(format!("{:?}", *host.kept().get().unwrap()), "SessionPersistence { tracks: 0, .. }");
}

// spec: session/S86
#[tokio::test]
async fn the_end_of_a_session_that_could_not_be_written_is_tried_again_when_the_store_ends() {
    let host = Host::new().await;
    let (session, effect) = host.live("s");
    say(&session, "a");
    host.disk.fail([Fault::Fail]);
    effect.dispose().await;
    until("it was tried", || host.disk.called() == 2).await;
    assert!(host.disk.events("s").is_empty());
    assert!(host.keeper.dispose().await.is_clean());
    assert_eq!(texts(host.disk.events("s")), ["a"]);
    host.app.assert_no_errors();
}

// spec: session/S86
#[tokio::test]
async fn a_new_session_of_the_id_does_not_mix_with_the_end_of_the_old_one() {
    let host = Host::new().await;
    let (old, effect) = host.live("s");
    say(&old, "a");
    let hold = host.disk.hold("s");
    effect.dispose().await;
    until("the end of the old one is being written", || host.disk.waiting() == 1).await;
    let (new, _effect) = host.live("s");
    say(&new, "x");
    say(&new, "y");
    drop(hold);
    let error = host.flush(&new).await.unwrap_err();
    assert!(error.contains("they differ at seq 0"), "{error}");
    assert_eq!(texts(host.disk.events("s")), ["a"]);
}

// spec: session/S86
#[tokio::test]
async fn a_session_that_is_made_from_the_old_one_at_once_goes_on_with_its_log() {
    let host = Host::new().await;
    let (old, effect) = host.live("s");
    say(&old, "a");
    say(&old, "b");
    effect.dispose().await;
    let (new, _effect) = host.live_with(seeded("s", old.events().to_vec()));
    say(&new, "c");
    host.flush(&new).await.unwrap();
    assert_eq!(texts(host.disk.events("s")), ["a", "b", "c"]);
}

// spec: session/S74, S86
#[tokio::test]
async fn an_old_session_on_which_the_storage_panics_does_not_hold_up_the_new_one() {
    let host = Host::new().await;
    let (old, effect) = host.live("s");
    host.flush(&old).await.unwrap();
    say(&old, "a");
    host.disk.fail([Fault::Panic]);
    effect.dispose().await;
    until("its end was tried", || host.disk.called() == 2 && host.disk.claims() == 0).await;
    let (new, _effect) = host.live_with(seeded("s", old.events().to_vec()));
    host.disk.calls();
    host.flush(&new).await.unwrap();
    assert_eq!(host.disk.calls(), ["open s", "append s 1"], "the old one is not tried again here");
    assert_eq!(host.disk.kinds("s"), ["x/note", "session/end-seed"]);
}

// spec: session/S88
#[tokio::test]
async fn nothing_that_ends_takes_a_log_away() {
    let mut host = Host::new().await;
    for id in ["a", "b", "c"] {
        let (session, effect) = host.live(id);
        say(&session, "kept");
        effect.dispose().await;
    }
    host.keeper.dispose().await;
    host.keep_again().await;
    let ids: Vec<_> =
        host.kept().get().unwrap().list().await.unwrap().into_iter().map(|header| header.id).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(texts(host.disk.events("a")), ["kept"]);
}
