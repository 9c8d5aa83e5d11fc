//! Agents that cannot be told, and what must go on all the same.

use std::sync::Arc;

use dsh_agent::testing::FnDriver;
use dsh_agent::{Agent, AgentStatus, InboxError, STATUS, StatusChange, Target, Wakeup};
use dsh_jobs::DONE;
use dsh_llm::Message;
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::{Fixture, QUEUED, Start, WOKEN, agent, completed, until};

type Send = dyn Fn(&Message) -> Result<(), InboxError> + std::marker::Send + Sync;

/// An inbox that does what a test wants, and remembers how it was spoken to.
struct Odd {
    tried: Mutex<Vec<(Target, Wakeup)>>,
    send: Mutex<Arc<Send>>,
}

impl Odd {
    fn new(
        send: impl Fn(&Message) -> Result<(), InboxError> + std::marker::Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { tried: Mutex::default(), send: Mutex::new(Arc::new(send)) })
    }

    fn take(&self) -> Vec<(Target, Wakeup)> {
        std::mem::take(&mut *self.tried.lock())
    }
}

impl Fixture {
    fn odd(&self, inbox: &Arc<Odd>) -> Agent {
        let inbox = inbox.clone();
        let driver = FnDriver(move |_: &Agent, message: Arc<Message>, target: Target, wakeup: Wakeup| {
            inbox.tried.lock().push((target, wakeup));
            let send = inbox.send.lock().clone();
            send(&message)
        });
        let odd = agent(&self.app, &self.sessions, "odd", Arc::new(driver));
        self.agents.add(&odd, None);
        odd
    }

    async fn one_of(&self, owner: &Agent) {
        self.end(self.start(Start::of(owner)), completed("exit code: 0")).await;
    }

    /// The texts of failures that were told aside, once there are so many.
    async fn failures(&self, count: usize) -> Vec<String> {
        let seen = Mutex::new(Vec::new());
        until(|| {
            seen.lock().extend(self.app.take_errors().into_iter().map(|it| it.to_string()));
            seen.lock().len() >= count
        })
        .await;
        seen.into_inner()
    }
}

fn ended() -> InboxError {
    InboxError::Ended { agent: "odd".to_owned() }
}

// spec: timeout-jobs-hooks/J52, timeout-jobs-hooks/J53
#[tokio::test]
async fn an_agent_that_takes_no_message_is_reported_and_no_wake_is_spent() {
    let fixture = Fixture::new().await;
    let inbox = Odd::new(|_| Err(ended()));
    let odd = fixture.odd(&inbox);
    let heard = Arc::new(Mutex::new(0));
    let hears = heard.clone();
    fixture.app.on(DONE).run(move |_| *hears.lock() += 1).unwrap();
    for round in 1..=5 {
        fixture.one_of(&odd).await;
        assert_eq!(inbox.take(), [WOKEN]);
        let failures = fixture.failures(1).await;
        let expected = format!("the end of job bash-{round} was not told: agent `odd` has ended");
        assert!(failures.len() == 1 && failures[0].contains(&expected), "{failures:?}");
        assert_eq!(*heard.lock(), round);
    }
    fixture.status(&odd, AgentStatus::Running);
    fixture.one_of(&odd).await;
    assert_eq!(inbox.take(), [QUEUED]);
    assert_eq!(fixture.failures(1).await.len(), 1);
    // The job is there to be read.
    let read = fixture.call_of(&odd, "job_output", json!({ "job_id": "bash-6" })).await;
    assert_eq!(read.text(), "(no new output)\n[status: completed, exit code: 0]");
}

// spec: timeout-jobs-hooks/J53, design/P4
#[tokio::test]
async fn an_inbox_that_panics_harms_nobody_else_and_no_wake_is_spent() {
    let fixture = Fixture::new().await;
    let inbox = Odd::new(|_| panic!("no room"));
    let odd = fixture.odd(&inbox);
    for _ in 0..4 {
        fixture.one_of(&odd).await;
        assert_eq!(inbox.take(), [WOKEN]);
        let failures = fixture.failures(1).await;
        assert!(failures.len() == 1 && failures[0].contains("no room"), "{failures:?}");
    }
    fixture.one_of(&fixture.ada).await;
    assert_eq!(crate::fixture::ways(&fixture.inbox), [WOKEN]);
}

// spec: timeout-jobs-hooks/J52, design/P3
#[tokio::test]
async fn an_agent_that_begins_to_work_while_it_is_told_is_busy_for_the_next() {
    let fixture = Fixture::new().await;
    let inbox = Odd::new(|_| Ok(()));
    let odd = fixture.odd(&inbox);
    let (app, works) = ((*fixture.app).clone(), odd.clone());
    *inbox.send.lock() = Arc::new(move |_| {
        app.emit(STATUS, &StatusChange { agent: works.clone(), status: AgentStatus::Running });
        Ok(())
    });
    fixture.one_of(&odd).await;
    fixture.one_of(&odd).await;
    assert_eq!(inbox.take(), [WOKEN, QUEUED]);
    // The inbox holds the agent.
    *inbox.send.lock() = Arc::new(|_| Ok(()));
}

// spec: timeout-jobs-hooks/J52
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn jobs_that_end_at_once_wake_their_owner_once() {
    let fixture = Fixture::new().await;
    let inbox = Odd::new(|_| Ok(()));
    let odd = fixture.odd(&inbox);
    let (app, works) = ((*fixture.app).clone(), odd.clone());
    *inbox.send.lock() = Arc::new(move |_| {
        // Long enough that others come in between.
        std::thread::yield_now();
        app.emit(STATUS, &StatusChange { agent: works.clone(), status: AgentStatus::Running });
        Ok(())
    });
    for _ in 0..20 {
        fixture.status(&odd, AgentStatus::Idle);
        fixture.step(&odd, vec![dsh_llm::Source::User {}]).await;
        let works: Vec<_> = (0..8).map(|_| fixture.start(Start::of(&odd))).collect();
        let tell = works.into_iter().map(|work| fixture.end(work, completed("exit code: 0")));
        futures_util::future::join_all(tell).await;
        let mut ways = inbox.take();
        ways.sort_by_key(|way| *way != WOKEN);
        assert_eq!(ways, [vec![WOKEN], vec![QUEUED; 7]].concat());
    }
    *inbox.send.lock() = Arc::new(|_| Ok(()));
}

// spec: timeout-jobs-hooks/J35, design/P1
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_comes_to_its_end_when_the_jobs_service_goes() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    let wait = fixture.call("job_output", json!({ "job_id": "bash-1", "wait": true }));
    let provider = fixture.provider.clone().unwrap();
    let goes = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let disposed = tokio::spawn(async move { provider.dispose().await });
        until(|| work.cancels.lock().len() == 1).await;
        work.stop();
        disposed.await.unwrap()
    };
    let (outcome, disposed) = tokio::join!(wait, goes);
    assert!(outcome.is_error(), "{outcome:?}");
    assert!(disposed.is_clean(), "{disposed:?}");
    assert_eq!(fixture.call("job_list", json!({})).await.code(), Some("UNKNOWN_TOOL"));
}
