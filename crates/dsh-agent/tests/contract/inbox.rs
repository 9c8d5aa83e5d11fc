//! What waits for an agent, and that its log says so first.

use std::sync::Arc;

use cordis::testing::TestApp;
use dsh_agent::testing::{MemoryDriver, parts};
use dsh_agent::{
    Agent, INBOX_CLAIMED, INBOX_DISCARDED, INBOX_INSERTED, InboxClaim, InboxError, Pending, Target,
};
use dsh_llm::{ContentBlock, Message};
use dsh_session::{
    APPENDING, Appending, CreateSession, EVENT, InboxSpliced, NewEvent, SESSIONS, Seed, Session, SessionEvent,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

fn said(text: &str) -> Arc<Message> {
    let message = Message::user(vec![ContentBlock::text(text)]);
    Arc::new(Message { id: text.to_owned(), ..message })
}

struct World {
    app: TestApp,
    agent: Agent,
    heard: Arc<Mutex<Vec<String>>>,
}

impl World {
    async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        let sessions = app.get(SESSIONS).unwrap();
        let session = sessions.get().unwrap().create(&app, CreateSession::default()).unwrap();
        let agent = Agent::new(parts(session, app.scope().unwrap(), Arc::new(MemoryDriver::default())));
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = heard.clone();
        app.on(INBOX_INSERTED).run(move |it| told.lock().push(format!("+{}", it.message.id))).unwrap();
        let told = heard.clone();
        app.on(INBOX_DISCARDED).run(move |it| told.lock().push(format!("-{}", it.message.id))).unwrap();
        let told = heard.clone();
        let claimed = move |it: &InboxClaim| told.lock().push(format!("!{} {}", it.message.id, it.turn));
        app.on(INBOX_CLAIMED).run(claimed).unwrap();
        Self { app, agent, heard }
    }

    fn waits(&self) -> [Vec<String>; 2] {
        ids(&self.agent.inbox().pending())
    }

    fn splices(&self) -> Vec<Value> {
        let events = self.agent.session().events();
        events
            .iter()
            .filter(|event| event.kind() == "agent/inbox/spliced")
            .map(|event| {
                let mut data: Value = serde_json::from_str(event.data().get()).unwrap();
                let ids = data["inserted"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
                data["inserted"] = Value::Array(ids);
                data
            })
            .collect()
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock())
    }
}

fn ids(pending: &Pending) -> [Vec<String>; 2] {
    [Target::NextTurn, Target::NextStep]
        .map(|target| pending.list(target).iter().map(|message| message.id.clone()).collect())
}

// spec: agent-loop/S8, agent-loop/S9, agent-loop/S13, agent-loop/S14
#[tokio::test]
async fn what_is_changed_is_logged_then_done_then_told() {
    let world = World::new().await;
    let inbox = world.agent.inbox();
    inbox.append(Target::NextTurn, said("a")).unwrap();
    inbox.append(Target::NextTurn, said("b")).unwrap();
    inbox.prepend(Target::NextTurn, said("c")).unwrap();
    inbox.append(Target::NextStep, said("d")).unwrap();
    assert_eq!(world.waits(), [vec!["c", "a", "b"], vec!["d"]]);
    assert_eq!(world.heard(), ["+a", "+b", "+c", "+d"]);
    assert!(inbox.replace("a", said("e")).unwrap());
    assert!(inbox.replace("d", said("f")).unwrap());
    assert!(!inbox.replace("nobody", said("g")).unwrap());
    assert_eq!(world.heard(), ["-a", "+e", "-d", "+f"]);
    assert!(inbox.remove("b").unwrap());
    assert!(!inbox.remove("b").unwrap());
    assert_eq!(world.waits(), [vec!["c", "e"], vec!["f"]]);
    inbox.clear().unwrap();
    assert_eq!(world.waits(), [Vec::<String>::new(), Vec::new()]);
    assert_eq!(world.heard(), ["-b", "-f", "-c", "-e"]);
    let expected = [
        json!({ "target": "next-turn", "start": 0, "inserted": ["a"] }),
        json!({ "target": "next-turn", "start": 1, "inserted": ["b"] }),
        json!({ "target": "next-turn", "start": 0, "inserted": ["c"] }),
        json!({ "target": "next-step", "start": 0, "inserted": ["d"] }),
        json!({ "target": "next-turn", "start": 1, "removedCount": 1, "inserted": ["e"], "outcome": "canceled" }),
        json!({ "target": "next-step", "start": 0, "removedCount": 1, "inserted": ["f"], "outcome": "canceled" }),
        json!({ "target": "next-turn", "start": 2, "removedCount": 1, "inserted": [], "outcome": "canceled" }),
        json!({ "target": "next-step", "start": 0, "removedCount": 1, "inserted": [], "outcome": "canceled" }),
        json!({ "target": "next-turn", "start": 0, "removedCount": 2, "inserted": [], "outcome": "canceled" }),
    ];
    assert_eq!(world.splices(), expected);
}

// spec: agent-loop/S9
#[tokio::test]
async fn an_observer_of_the_log_sees_what_waited_before() {
    let world = World::new().await;
    world.agent.inbox().append(Target::NextTurn, said("a")).unwrap();
    let (weak, seen) = (world.agent.downgrade(), Arc::new(Mutex::new(Vec::new())));
    let told = seen.clone();
    world
        .app
        .on(EVENT)
        .run(move |_: &SessionEvent| {
            let agent = weak.upgrade().unwrap();
            told.lock().push(ids(&agent.inbox().pending()));
            // Whoever is told of an append cannot change what waits.
            let refused = agent.inbox().append(Target::NextStep, said("no"));
            assert!(matches!(refused, Err(InboxError::Append { .. })), "{refused:?}");
        })
        .unwrap();
    assert!(world.agent.inbox().remove("a").unwrap());
    assert_eq!(*seen.lock(), [[vec!["a".to_owned()], Vec::new()]]);
    assert!(world.agent.inbox().is_empty());
}

// spec: agent-loop/S10
#[tokio::test]
async fn a_change_that_the_log_does_not_take_is_none() {
    let world = World::new().await;
    world.agent.inbox().append(Target::NextTurn, said("a")).unwrap();
    world.heard();
    let refusing = world.app.on(APPENDING).run(|_: &Appending| Err("full".into())).unwrap();
    let inbox = world.agent.inbox();
    assert!(matches!(inbox.append(Target::NextTurn, said("b")), Err(InboxError::Append { .. })));
    assert!(inbox.remove("a").is_err());
    assert!(inbox.clear().is_err());
    assert!(inbox.claim(Target::NextTurn, 1).is_err());
    assert_eq!(world.waits(), [vec!["a"], vec![]]);
    assert_eq!(world.heard(), Vec::<String>::new());
    refusing.dispose().await;
    assert_eq!(world.splices().len(), 1);
}

// spec: agent-loop/S11
#[tokio::test]
async fn places_beyond_the_end_mean_the_end_and_nothing_changes_nothing() {
    let world = World::new().await;
    let inbox = world.agent.inbox();
    let removed = inbox.splice(Target::NextTurn, 5..9, vec![said("a"), said("b"), said("c")]).unwrap();
    assert_eq!(removed, []);
    assert_eq!(inbox.splice(Target::NextTurn, .., Vec::new()).unwrap().len(), 3);
    assert_eq!(inbox.splice(Target::NextTurn, .., Vec::new()).unwrap(), []);
    assert_eq!(inbox.splice(Target::NextStep, 0..0, Vec::new()).unwrap(), []);
    inbox.splice(Target::NextTurn, .., vec![said("a"), said("b"), said("c")]).unwrap();
    let removed = inbox.splice(Target::NextTurn, 1..=1, vec![said("d")]).unwrap();
    assert_eq!(removed.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["b"]);
    #[allow(clippy::reversed_empty_ranges, reason = "what is tried")]
    let none = inbox.splice(Target::NextTurn, 2..1, Vec::new()).unwrap();
    assert_eq!(none, []);
    assert_eq!(world.waits(), [vec!["a", "d", "c"], vec![]]);
    let starts: Vec<(u64, u64)> = world
        .splices()
        .iter()
        .map(|splice| (splice["start"].as_u64().unwrap(), splice["removedCount"].as_u64().unwrap_or(0)))
        .collect();
    assert_eq!(starts, [(0, 0), (0, 3), (0, 0), (1, 1)]);
}

// spec: agent-loop/S12, agent-loop/S8
#[tokio::test]
async fn a_message_waits_once_in_both_lists_together() {
    let world = World::new().await;
    let inbox = world.agent.inbox();
    inbox.append(Target::NextTurn, said("a")).unwrap();
    let twice = |result: Result<(), InboxError>| {
        assert!(matches!(result, Err(InboxError::Pending { .. })), "{result:?}")
    };
    twice(inbox.append(Target::NextTurn, said("a")));
    twice(inbox.append(Target::NextStep, said("a")));
    twice(inbox.splice(Target::NextStep, .., vec![said("b"), said("b")]).map(drop));
    // One that leaves makes room for itself.
    assert!(inbox.replace("a", said("a")).unwrap());
    assert_eq!(world.waits(), [vec!["a"], vec![]]);
}

// spec: agent-loop/S15, agent-loop/S14
#[tokio::test]
async fn what_is_claimed_is_taken_in_order_and_told_afterwards() {
    let world = World::new().await;
    let inbox = world.agent.inbox();
    for (target, id) in
        [(Target::NextTurn, "a"), (Target::NextTurn, "b"), (Target::NextStep, "c"), (Target::NextStep, "d")]
    {
        inbox.append(target, said(id)).unwrap();
    }
    world.heard();
    let claimed = inbox.claim(Target::NextTurn, 7).unwrap();
    assert_eq!(claimed.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["c", "d", "a"]);
    assert_eq!(world.heard(), ["!c 7", "!d 7", "!a 7"]);
    assert_eq!(inbox.claim(Target::NextStep, 7).unwrap(), []);
    assert_eq!(world.waits(), [vec!["b"], vec![]]);
    let expected = [
        json!({ "target": "next-step", "start": 0, "removedCount": 2, "inserted": [] }),
        json!({ "target": "next-turn", "start": 0, "removedCount": 1, "inserted": [] }),
    ];
    assert_eq!(world.splices()[4..], expected);
}

// spec: agent-loop/S16
#[tokio::test]
async fn a_log_gives_back_what_waits() {
    let world = World::new().await;
    let inbox = world.agent.inbox();
    for id in ["a", "b", "c"] {
        inbox.append(Target::NextTurn, said(id)).unwrap();
    }
    inbox.append(Target::NextStep, said("d")).unwrap();
    inbox.replace("b", said("e")).unwrap();
    inbox.claim(Target::NextTurn, 1).unwrap();
    let pending = inbox.pending();
    let events = world.agent.session().events();
    let header = dsh_session::SessionHeader::new("again", 0);
    let again = Session::new(header.clone(), Some(Seed::from(events.clone()))).unwrap();
    assert_eq!(Pending::restored(&again).unwrap(), pending);
    assert_eq!(ids(&pending), [vec!["e".to_owned(), "c".to_owned()], Vec::new()]);
    // A fork inherits nothing: what is its parent's waits for that one.
    let fork = dsh_session::SessionHeader { seed_length: Some(events.len() as u64), ..header.clone() };
    let fork = Session::new(fork, Some(Seed::from(events.clone()))).unwrap();
    assert!(Pending::restored(&fork).unwrap().is_empty());
    let spliced = |target, start, removed_count, inserted: &[&str]| {
        let inserted = inserted.iter().map(|id| Message::clone(&said(id))).collect();
        NewEvent::new(&InboxSpliced { target, start, removed_count, inserted, outcome: None }).unwrap()
    };
    for bad in [
        spliced(Target::NextTurn, 3, None, &["x"]),
        spliced(Target::NextTurn, 1, Some(2), &[]),
        spliced(Target::NextStep, 0, None, &["e"]),
    ] {
        let log = Session::new(header.clone(), Some(Seed::from(events.clone()))).unwrap();
        let seq = log.append(bad).unwrap().seq();
        let error = Pending::restored(&log).unwrap_err();
        assert_eq!(error.seq, seq);
        assert!(error.to_string().contains(&format!("event {seq}")), "{error}");
    }
}

// spec: agent-loop/S6
#[tokio::test]
async fn a_message_that_is_no_lossless_json_moves_nothing() {
    let world = World::new().await;
    let source = dsh_llm::Source::Other(json!({ "kind": "odd", "n": -0.0 }));
    let odd = Arc::new(Message { source, ..Message::clone(&said("a")) });
    let refused = world.agent.inbox().append(Target::NextTurn, odd);
    assert!(matches!(refused, Err(InboxError::NotLossless { .. })), "{refused:?}");
    assert!(world.agent.inbox().is_empty());
    assert_eq!(world.splices(), Vec::<Value>::new());
    assert_eq!(world.heard(), Vec::<String>::new());
}

// spec: agent-loop/S8, agent-loop/S9
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_that_change_it_at_once_leave_a_log_that_gives_the_same_back() {
    let world = World::new().await;
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let agent = world.agent.clone();
            std::thread::spawn(move || {
                for round in 0..50 {
                    let target = if round % 2 == 0 { Target::NextTurn } else { Target::NextStep };
                    let id = format!("{thread}-{round}");
                    agent.inbox().append(target, said(&id)).unwrap();
                    match round % 5 {
                        0 => drop(agent.inbox().remove(&id).unwrap()),
                        1 => drop(agent.inbox().claim(Target::NextTurn, 1).unwrap()),
                        2 => drop(agent.inbox().prepend(target, said(&format!("{id}+")))),
                        _ => {}
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(Pending::restored(world.agent.session()).unwrap(), world.agent.inbox().pending());
}
