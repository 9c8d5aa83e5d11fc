//! Whose log it is: sessions that are created, that take over a log, that collide with one, and that go.

use dsh_session::{CreateSession, PersistError, Seed, SessionHeader, TurnStart};

use crate::host::{Host, add, log, pass, say, text_of, texts, until};
use crate::memory::Fault;

fn seeded(id: &str, events: Vec<std::sync::Arc<dsh_session::Event>>) -> CreateSession {
    CreateSession {
        id: Some(id.to_owned()),
        seed: Some(Seed::new(events.into_iter().collect())),
        ..CreateSession::default()
    }
}

fn in_folder(id: &str, cwd: &str) -> CreateSession {
    CreateSession { id: Some(id.to_owned()), cwd: Some(cwd.to_owned()), ..CreateSession::default() }
}

// spec: session/S85
#[tokio::test(start_paused = true)]
async fn a_fresh_session_without_events_leaves_nothing() {
    let host = Host::new().await;
    let (session, effect) = host.live("s");
    pass(1_000).await;
    assert_eq!(host.flush(&session).await, Ok(true));
    effect.dispose().await;
    pass(1_000).await;
    assert_eq!(host.disk.called(), 0);
    assert_eq!(host.kept().get().unwrap().list().await.unwrap(), []);
}

// spec: session/S85
#[tokio::test(start_paused = true)]
async fn a_fresh_session_with_a_seed_writes_it_once() {
    let host = Host::new().await;
    let (_, events) = log("elsewhere", &["a", "b"]);
    let (session, _effect) = host.live_with(seeded("s", events));
    pass(200).await;
    assert_eq!(host.disk.calls(), ["open s", "create s 3"]);
    assert_eq!(host.disk.kinds("s"), ["x/note", "x/note", "session/end-seed"]);
    assert_eq!(host.disk.header("s").as_ref(), Some(&**session.header()));
    host.flush(&session).await.unwrap();
    assert_eq!(host.disk.called(), 0);
}

// spec: session/S85
#[tokio::test]
async fn an_id_that_never_came_to_a_log_can_be_used_again() {
    let host = Host::new().await;
    let (_, effect) = host.live("s");
    effect.dispose().await;
    let (second, _effect) = host.live_with(in_folder("s", "/w"));
    say(&second, "a");
    host.flush(&second).await.unwrap();
    assert_eq!(host.disk.header("s").unwrap().cwd.as_deref(), Some("/w"));
}

// spec: session/S85
#[tokio::test]
async fn a_live_session_that_begins_like_the_stored_one_goes_on_with_its_log() {
    let host = Host::new().await;
    let (header, events) = log("s", &["a", "b"]);
    host.disk.put(header.clone(), events.clone(), None);
    let (session, _effect) = host.live_with(seeded("s", events));
    say(&session, "c");
    host.flush(&session).await.unwrap();
    assert_eq!(host.disk.calls(), ["open s", "append s 2"]);
    assert_eq!(texts(host.disk.events("s")), ["a", "b", "c"]);
    assert_eq!(host.disk.header("s"), Some(header), "the header stays as it was stored");
}

// spec: session/S85
#[tokio::test]
async fn a_stored_session_of_another_content_is_left_alone_and_the_flush_says_so() {
    let host = Host::new().await;
    let (header, events) = log("s", &["a", "b"]);
    host.disk.put(header, events.clone(), None);

    let (other, effect) = host.live("s");
    say(&other, "x");
    say(&other, "y");
    say(&other, "z");
    let error = host.flush(&other).await.unwrap_err();
    assert!(error.contains("what is stored as `s` is another session: they differ at seq 0"), "{error}");
    let error = host.flush(&other).await.unwrap_err();
    assert!(error.contains("is another session"), "a flush tells of it again: {error}");
    effect.dispose().await;
    let kept = host.kept();
    let resumed = kept.get().unwrap().prepare("s").await.unwrap();
    assert_eq!(texts(&resumed.session().events()), ["a", "b"], "what has no place there holds nobody up");
    drop(resumed);

    let (shorter, _effect) =
        host.live_with(CreateSession { id: Some("s".to_owned()), ..CreateSession::default() });
    say(&shorter, "a");
    let error = host.flush(&shorter).await.unwrap_err();
    assert!(error.contains("it has 2 events, the live one 1"), "{error}");
    assert_eq!(host.disk.events("s"), events);
    assert_eq!(host.disk.claims(), 0);
}

// spec: session/S85
#[tokio::test]
async fn a_stored_session_of_another_folder_is_left_alone_and_the_flush_says_so() {
    let host = Host::new().await;
    let (header, events) = log("s", &["a"]);
    host.disk.put(SessionHeader { cwd: Some("/other".to_owned()), ..header }, events.clone(), None);
    let options = CreateSession { cwd: Some("/w".to_owned()), ..seeded("s", events) };
    let (session, _effect) = host.live_with(options);
    let error = host.flush(&session).await.unwrap_err();
    assert!(error.contains("it works in another folder"), "{error}");
    assert_eq!(host.disk.events("s").len(), 1);
}

// spec: session/S85
#[tokio::test]
async fn what_was_appended_without_a_session_is_compared_before_a_live_one_goes_on_with_it() {
    let host = Host::new().await;
    let (header, events) = log("s", &["a"]);
    let kept = host.kept();
    let kept = kept.get().unwrap();
    kept.create(header).await.unwrap();
    kept.append("s", events.clone()).await.unwrap();

    let (other, effect) = host.live("s");
    say(&other, "x");
    say(&other, "y");
    let error = host.flush(&other).await.unwrap_err();
    assert!(error.contains("they differ at seq 0"), "{error}");
    effect.dispose().await;

    let (same, _effect) = host.live_with(seeded("s", events));
    assert_eq!(host.flush(&same).await, Ok(true));
    assert_eq!(host.disk.kinds("s"), ["x/note", "session/end-seed"]);
}

// spec: session/S85
#[tokio::test]
async fn a_reserved_name_is_claimed_by_a_live_session_of_the_same_folder_only() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let header = SessionHeader { cwd: Some("/w".to_owned()), ..SessionHeader::new("s", 7) };
    kept.create(header.clone()).await.unwrap();
    let (elsewhere, effect) = host.live_with(in_folder("s", "/other"));
    say(&elsewhere, "x");
    let error = host.flush(&elsewhere).await.unwrap_err();
    assert!(error.contains("it works in another folder"), "{error}");
    drop(effect);
    assert!(host.disk.events("s").is_empty());

    kept.create(SessionHeader { id: "t".to_owned(), ..header.clone() }).await.unwrap();
    let (session, _effect) = host.live_with(in_folder("t", "/w"));
    say(&session, "a");
    host.flush(&session).await.unwrap();
    assert_eq!(host.disk.header("t").unwrap().created_at_ms, 7, "the header is the reserved one");
}

// spec: session/S85
#[tokio::test]
async fn the_storage_plugin_comes_back_and_live_sessions_go_on_with_their_logs() {
    let mut host = Host::new().await;
    let (session, _effect) = host.live("s");
    add(&session, &TurnStart { turn: 1 });
    host.flush(&session).await.unwrap();
    say(&session, "unwritten");
    assert!(host.keeper.dispose().await.is_clean());
    assert_eq!(host.disk.kinds("s"), ["turn/start", "x/note"], "the end of the store writes the rest");
    assert_eq!(host.disk.claims(), 0);

    // Meanwhile there is no storage.
    say(&session, "between");
    assert_eq!(host.flush(&session).await, Ok(false));
    let (header, events) = (host.disk.header("s").unwrap(), host.disk.events("s"));
    host.disk.put(header, events, Some("cut"));
    host.disk.calls();

    host.keep_again().await;
    assert_eq!(host.flush(&session).await, Ok(true));
    assert_eq!(host.disk.calls(), ["open s", "repair s 0", "append s 1"]);
    assert_eq!(host.disk.kinds("s"), ["turn/start", "x/note", "x/note"], "the open turn stays open");
    host.app.assert_no_errors();
}

#[tokio::test(start_paused = true)]
async fn a_live_session_is_written_after_a_reload_without_another_event() {
    let mut host = Host::new().await;
    let (session, _effect) = host.live("s");
    host.keeper.dispose().await;
    say(&session, "between");
    host.keep_again().await;
    pass(200).await;
    assert_eq!(texts(host.disk.events("s")), ["between"]);
}

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

#[tokio::test]
async fn a_live_session_in_a_second_store_cannot_take_the_id_of_one_that_is_written() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    let second = dsh_session::SessionStore::new();
    let options = CreateSession { id: Some("s".to_owned()), ..CreateSession::default() };
    let error = second.create(&host.app, options).unwrap_err();
    assert!(text_of(&error).contains("session `s` is live"), "{}", text_of(&error));
    say(&session, "a");
    assert_eq!(host.flush(&session).await, Ok(true));
    assert_eq!(texts(host.disk.events("s")), ["a"]);
}

#[tokio::test]
async fn a_log_that_another_process_writes_to_is_not_touched() {
    let host = Host::new().await;
    let (header, events) = log("s", &["a"]);
    host.disk.put(header, events.clone(), None);
    host.disk.claim("s", true);
    let (session, _effect) = host.live_with(seeded("s", events));
    let error = host.flush(&session).await.unwrap_err();
    assert!(error.contains("session `s` is busy"), "{error}");
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let live = kept.prepare("s").await.unwrap_err();
    assert!(matches!(live, PersistError::Live { .. }), "{live}");
    host.disk.claim("s", false);
    assert_eq!(host.flush(&session).await, Ok(true));
}
