//! Resuming: preparations, what a crash left open, and who waits for whom.

use std::sync::Arc;

use dsh_llm::{ContentBlock, Message};
use dsh_session::{
    AssistantMessage, Event, NewEvent, PersistError, Session, StepStart, ToolCall, ToolResult, TurnStart,
    derive_messages,
};

use crate::host::{Host, add, given_up_when, log, say, settle, texts, until};
use crate::memory::{Disk, Fault};

/// A log that ends with three calls, the first of which has its result and the second was begun.
fn cut_in_a_call(disk: &Disk, id: &str) -> Vec<Arc<Event>> {
    let session = Session::detached(id);
    add(&session, &TurnStart { turn: 1 });
    add(&session, &StepStart { turn: 1, step: 1 });
    let call = |id: &str| ContentBlock::ToolCall {
        id: id.to_owned(),
        name: "bash".to_owned(),
        arguments: "{}".to_owned(),
    };
    let message = Message::assistant(vec![call("c1"), call("c2"), call("c3")], "p", "m");
    let answer =
        AssistantMessage { turn: 1, step: 1, message: Arc::new(message), usage: None, interrupted: None };
    session.append(NewEvent::answer(&answer).unwrap()).unwrap();
    for id in ["c1", "c2"] {
        let (call_id, name, arguments) = (id.to_owned(), "bash".to_owned(), "{}".to_owned());
        add(&session, &ToolCall { turn: 1, step: 1, call_id, name, arguments });
    }
    let message = Message::tool_result("c1", vec![ContentBlock::text("done")], false);
    let result = ToolResult { turn: 1, step: 1, message: Arc::new(message), error: None, meta: None };
    session.append(NewEvent::tool_result(&result).unwrap()).unwrap();
    let events: Vec<_> = session.events().to_vec();
    disk.put((**session.header()).clone(), events.clone(), Some("cut"));
    events
}

fn results(events: &[Arc<Event>]) -> Vec<(String, Option<String>)> {
    let of = |event: &Arc<Event>| event.payload::<ToolResult>().unwrap();
    let result = |result: ToolResult| {
        let call = result.message.check_tool_result().unwrap().to_owned();
        (call, result.error.map(|error| error.code))
    };
    events.iter().filter_map(of).map(result).collect()
}

// spec: session/S77, cases/G3
#[tokio::test]
async fn a_crash_in_the_middle_of_calls_gives_one_interrupted_result_each_and_only_once() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let cut = cut_in_a_call(&host.disk, "s");
    let first = kept.prepare("s").await.unwrap();
    assert_eq!((first.closers(), first.torn()), (4, Some("cut")));
    let expected = [
        ("c1".to_owned(), None),
        ("c2".to_owned(), Some("TOOL_OUTCOME_UNKNOWN".to_owned())),
        ("c3".to_owned(), Some("TOOL_NOT_STARTED".to_owned())),
    ];
    assert_eq!(results(&host.disk.events("s")), expected);
    assert_eq!(host.disk.events("s")[..cut.len()], cut);
    assert_eq!(host.disk.kinds("s")[cut.len() + 2..], ["step/end", "turn/end"]);
    drop(first);
    until("the claim is given up", || host.disk.claims() == 0).await;
    let stored = host.disk.events("s");

    let second = kept.prepare("s").await.unwrap();
    assert_eq!((second.closers(), second.torn()), (0, None));
    assert_eq!(host.disk.events("s"), stored, "the second resume adds nothing");
    let session = second.session();
    assert_eq!(session.events().iter().take(stored.len()).collect::<Vec<_>>(), stored);
    assert_eq!(session.events().last().unwrap().kind(), "session/end-seed");
    assert_eq!(session.first_live_seq(), stored.len() as u64);
    // The answer with its calls, and three results.
    assert_eq!(derive_messages(&stored.iter().cloned().collect()).unwrap().len(), 4);
    assert_eq!(session.messages().len(), 4);
}

// spec: session/S77
#[tokio::test]
async fn a_resumed_session_goes_on_with_its_log_in_one_batch() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a"]);
    host.disk.put(header, events, None);
    let prepared = kept.prepare("s").await.unwrap();
    let _effect = host.enter(&prepared);
    let session = prepared.session().clone();
    drop(prepared);
    say(&session, "b");
    host.flush(&session).await.unwrap();
    assert_eq!(host.disk.calls(), ["open s", "append s 2"]);
    assert_eq!(host.disk.kinds("s"), ["x/note", "session/end-seed", "x/note"]);
}

// spec: session/S77
#[tokio::test]
async fn a_live_session_cannot_be_resumed() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (session, effect) = host.live("s");
    say(&session, "a");
    let error = kept.prepare("s").await.unwrap_err();
    assert!(matches!(error, PersistError::Live { .. }), "{error}");
    effect.dispose().await;
    let prepared = kept.prepare("s").await.unwrap();
    assert_eq!(texts(&prepared.session().events()), ["a"], "its end is written before it is resumed");
}

// spec: session/S77
#[tokio::test]
async fn a_session_that_left_in_the_middle_of_a_turn_is_closed_when_it_is_resumed() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (session, effect) = host.live("s");
    add(&session, &TurnStart { turn: 1 });
    effect.dispose().await;
    assert_eq!(kept.prepare("s").await.unwrap().closers(), 1);
    assert_eq!(host.disk.kinds("s"), ["turn/start", "turn/end"]);
}

// spec: session/S77
#[tokio::test]
async fn a_session_whose_end_cannot_be_written_is_not_resumed_without_it() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (session, effect) = host.live("s");
    say(&session, "a");
    host.flush(&session).await.unwrap();
    say(&session, "b");
    host.disk.fail([Fault::Fail, Fault::Fail]);
    effect.dispose().await;
    until("its end was tried", || host.disk.called() == 3).await;
    settle().await;
    let error = kept.prepare("s").await.unwrap_err();
    assert!(matches!(error, PersistError::Storage(_)), "{error}");
    assert_eq!(texts(&kept.prepare("s").await.unwrap().session().events()), ["a", "b"]);
}

// spec: session/S77
#[tokio::test]
async fn who_resumes_a_reserved_session_waits_until_it_is_released() {
    let host = Arc::new(Host::new().await);
    let (header, events) = log("s", &["a"]);
    host.disk.put(header, events, None);
    let first = host.kept().get().unwrap().prepare("s").await.unwrap();
    let waiter = |host: &Arc<Host>| {
        let kept = host.kept();
        tokio::spawn(async move { kept.get().unwrap().prepare("s").await })
    };
    let (second, third, given_up) = (waiter(&host), waiter(&host), waiter(&host));
    settle().await;
    assert!(!second.is_finished() && !third.is_finished() && !given_up.is_finished());
    given_up.abort();
    drop(first);
    let mut waiting = vec![second, third];
    until("one of them has it", || waiting.iter().any(|waiter| waiter.is_finished())).await;
    settle().await;
    let got = waiting.remove(waiting.iter().position(|waiter| waiter.is_finished()).unwrap());
    let got = got.await.unwrap().unwrap();
    assert!(!waiting[0].is_finished(), "one at a time");

    // It becomes live: who waits still is told.
    let _effect = host.enter(&got);
    let error = waiting.remove(0).await.unwrap().unwrap_err();
    assert!(matches!(error, PersistError::Live { .. }), "{error}");
}

// spec: session/S77
#[tokio::test]
async fn who_stops_waiting_for_a_resume_leaves_nothing_reserved() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    cut_in_a_call(&host.disk, "s");
    let hold = host.disk.hold("s");
    given_up_when(kept.prepare("s"), || host.disk.waiting() == 1).await;
    drop(hold);
    until("the repair has ended and the claim is given up", || host.disk.claims() == 0).await;
    assert_eq!(results(&host.disk.events("s")).len(), 3);
    assert_eq!(kept.prepare("s").await.unwrap().closers(), 0);
}

// spec: session/S76, S77
#[tokio::test]
async fn a_released_reservation_is_remembered_for_the_next_look_unless_it_was_changed() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    cut_in_a_call(&host.disk, "s");
    drop(kept.prepare("s").await.unwrap());
    host.disk.calls();
    let seen = kept.inspect("s").await.unwrap();
    assert_eq!(host.disk.calls(), [""; 0], "it is not read again");
    assert_eq!((seen.closers, seen.torn), (0, None));
    assert_eq!(seen.events.to_vec(), host.disk.events("s"));

    let (header, events) = log("t", &["a"]);
    host.disk.put(header, events, None);
    let changed = kept.prepare("t").await.unwrap();
    say(changed.session(), "in memory only");
    drop(changed);
    host.disk.calls();
    assert_eq!(texts(&kept.inspect("t").await.unwrap().events), ["a"]);
    assert_eq!(host.disk.calls(), ["read t"]);
}

// spec: session/S75, S76
#[tokio::test]
async fn a_reserved_session_can_be_loaded_and_inspected() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    cut_in_a_call(&host.disk, "s");
    let prepared = kept.prepare("s").await.unwrap();
    let stored = host.disk.events("s");
    for seen in [kept.load("s").await.unwrap(), kept.inspect("s").await.unwrap()] {
        assert_eq!(seen.events.to_vec(), stored);
    }
    let _effect = host.enter(&prepared);
    host.flush(prepared.session()).await.unwrap();
    assert_eq!(host.disk.events("s").len(), stored.len() + 1);
}

#[tokio::test]
async fn a_session_that_another_process_has_is_busy() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a"]);
    host.disk.put(header, events, None);
    host.disk.claim("s", true);
    for error in [kept.prepare("s").await.err(), kept.load("s").await.err()] {
        let error = error.unwrap();
        assert!(error.to_string().starts_with("session `s` is busy"), "{error}");
    }
    assert_eq!(kept.inspect("s").await.unwrap().events.len(), 1, "it can be looked at");
    host.disk.claim("s", false);
    drop(kept.prepare("s").await.unwrap());
}

#[tokio::test]
async fn another_session_of_the_id_of_a_reserved_one_does_not_get_its_claim() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a"]);
    host.disk.put(header, events, None);
    let prepared = kept.prepare("s").await.unwrap();
    let (other, _effect) = host.live("s");
    for text in ["x", "y", "z"] {
        say(&other, text);
    }
    let error = host.flush(&other).await.unwrap_err();
    assert!(error.contains("they differ at seq 0"), "{error}");
    drop(prepared);
    settle().await;
    assert_eq!(texts(host.disk.events("s")), ["a"]);
}
