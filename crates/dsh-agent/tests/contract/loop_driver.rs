//! Loops that break.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use cordis::BoxFuture;
use cordis::testing::TestApp;
use dsh_agent::testing::parts;
use dsh_agent::{Activity, Agent, AgentLoop, AgentStatus, LoopDriver, STATUS, Target};
use dsh_llm::{ContentBlock, Message};
use dsh_session::{CancelCause, Session};
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
