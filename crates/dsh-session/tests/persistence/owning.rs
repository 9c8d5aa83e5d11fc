//! Whose log it is: sessions that are created, that take over a log, that collide with one, and that go.

use dsh_session::{CreateSession, PersistError, SessionHeader, TurnStart};

use crate::host::{Host, add, log, pass, say, seeded, text_of, texts, until};

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
    until("it is written", || host.disk.events("s").len() == 3).await;
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
    until("it is written", || host.disk.events("s").len() == 1).await;
    assert_eq!(texts(host.disk.events("s")), ["between"]);
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
