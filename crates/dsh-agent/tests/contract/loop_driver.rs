//! Who is woken when, where the loop breaks or several threads speak.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use cordis::BoxFuture;
use cordis::testing::TestApp;
use dsh_agent::testing::parts;
use dsh_agent::{Activity, Agent, AgentLoop, AgentStatus, LoopDriver, STATUS, Target};
use dsh_llm::{ContentBlock, Message};
use dsh_session::{APPENDING, Appending, CancelCause, CreateSession, SESSIONS, Session};
use parking_lot::Mutex;

fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user(vec![ContentBlock::text(text)]))
}

/// Panics when it is cancelled, the first time; takes what waits after that.
#[derive(Default)]
struct Breaks(AtomicUsize);

impl AgentLoop for Breaks {
    fn wake(&self, activity: Activity) -> BoxFuture<'static, ()> {
        let turn = self.0.fetch_add(1, SeqCst) as u64 + 1;
        Box::pin(async move {
            activity.agent().inbox().claim(Target::NextTurn, turn).unwrap();
            if turn == 1 {
                activity.cancellation().cancelled().await;
                panic!("a loop");
            }
        })
    }
}

// spec: agent-loop/S39, agent-loop/S40, agent-loop/S46
#[tokio::test]
async fn what_woke_the_agent_while_its_loop_broke_is_not_left_behind() {
    let app = TestApp::new();
    let driver = Arc::new(LoopDriver::new(app.root(), Breaks::default()));
    let agent = Agent::new(parts(Session::detached("s-1"), app.scope().unwrap(), driver));
    let statuses: Arc<Mutex<Vec<AgentStatus>>> = Arc::default();
    let told = statuses.clone();
    app.on(STATUS).run(move |change| told.lock().push(change.status)).unwrap();
    agent.followup(said("one")).unwrap();
    tokio::task::yield_now().await;
    agent.cancel(CancelCause::User {}).unwrap();
    agent.followup(said("two")).unwrap();
    agent.when_idle().await;
    assert!(agent.inbox().is_empty());
    let (running, idle) = (AgentStatus::Running, AgentStatus::Idle);
    assert_eq!(*statuses.lock(), [running, idle, running, idle]);
    app.quiet().await;
    assert_eq!(app.take_errors().len(), 1);
}

/// Takes what waits, and goes on until it is cancelled.
struct Waits;

impl AgentLoop for Waits {
    fn wake(&self, activity: Activity) -> BoxFuture<'static, ()> {
        activity.agent().inbox().claim(Target::NextTurn, 1).unwrap();
        Box::pin(async move { activity.cancellation().cancelled().await })
    }
}

// spec: agent-loop/S39, agent-loop/S71
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_while_another_thread_cancels_is_cancelled_or_taken() {
    for round in 0..300 {
        let app = TestApp::new();
        let driver = Arc::new(LoopDriver::new(app.root(), Waits));
        let agent = Agent::new(parts(Session::detached("s-1"), app.scope().unwrap(), driver));
        agent.followup(said("one")).unwrap();
        let (cancels, speaks) = (agent.clone(), agent.clone());
        let barrier = Arc::new(std::sync::Barrier::new(2));
        let start = barrier.clone();
        let cancelling = std::thread::spawn(move || {
            start.wait();
            cancels.cancel(CancelCause::User {}).unwrap();
        });
        barrier.wait();
        speaks.followup(said("two")).unwrap();
        cancelling.join().unwrap();
        let idle = tokio::time::timeout(std::time::Duration::from_millis(5), agent.when_idle()).await;
        // Either it is idle and nothing waits, or `two` has begun a turn, which took it.
        assert!(agent.inbox().is_empty(), "round {round}: idle {}", idle.is_ok());
        agent.end().await;
    }
}

// spec: agent-loop/S39, agent-loop/S71
#[tokio::test]
async fn a_cancellation_in_the_middle_of_a_send_loses_it_only_if_it_comes_from_inside() {
    for is_inside in [false, true] {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        let session =
            app.get(SESSIONS).unwrap().get().unwrap().create(&app, CreateSession::default()).unwrap();
        let driver = Arc::new(LoopDriver::new(app.root(), Waits));
        let agent = Agent::new(parts(session, app.scope().unwrap(), driver));
        agent.followup(said("one")).unwrap();
        let cancels = agent.clone();
        let cancelling = move |_: &Appending| {
            let agent = cancels.clone();
            if is_inside {
                agent.cancel(CancelCause::User {})?;
            } else {
                std::thread::spawn(move || agent.cancel(CancelCause::User {}).unwrap()).join().unwrap();
            }
            Ok(())
        };
        app.on(APPENDING).once().run(cancelling).unwrap();
        agent.followup(said("two")).unwrap();
        tokio::task::yield_now().await;
        let status = if is_inside { AgentStatus::Idle } else { AgentStatus::Running };
        assert_eq!((agent.status(), agent.inbox().is_empty()), (status, !is_inside));
        agent.end().await;
    }
}
