//! An agent without a loop: a session in memory, a scope, one turn, and an inbox that nobody empties.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use cordis::{BoxFuture, Context};
use dsh_agent::{
    Agent, AgentOptions, AgentParts, AgentStatus, Driver, InboxError, Maintenance, NotIdle, Pending, Target,
    Waiting, Wakeup,
};
use dsh_llm::Message;
use dsh_session::{
    CancelCause, CreateSession, NewEvent, Session, SessionStore, TurnEnd, TurnEndReason, TurnStart,
};

/// The agent's only turn.
const TURN: u64 = 1;

/// Makes an agent whose turn has begun, in a folder if it has one. It ends with the context.
pub(crate) fn agent(
    ctx: &Context,
    sessions: &SessionStore,
    name: &str,
    folder: Option<&Path>,
) -> anyhow::Result<(Agent, Turn)> {
    let scope = ctx.scope()?;
    let cwd = folder.map(|folder| folder.to_string_lossy().into_owned());
    let options = CreateSession { id: Some(name.to_owned()), cwd, ..CreateSession::default() };
    let session = sessions.create(scope.context(), options)?;
    session.append(NewEvent::new(&TurnStart { turn: TURN })?)?;
    let ended = Arc::new(AtomicBool::new(false));
    let driver = Arc::new(OneTurn { ended: Arc::clone(&ended) });
    let turn = Turn { session: Arc::clone(&session), ended };
    let (pending, options) = (Pending::default(), AgentOptions::default());
    Ok((Agent::new(AgentParts { session, scope, pending, driver, options }), turn))
}

/// The agent's turn, as long as it goes on.
pub(crate) struct Turn {
    session: Arc<Session>,
    ended: Arc<AtomicBool>,
}

impl Turn {
    /// Ends it. From here on the agent takes no messages.
    pub(crate) fn end(&self) -> anyhow::Result<()> {
        self.ended.store(true, SeqCst);
        let end = TurnEnd { turn: TURN, reason: TurnEndReason::Completed {} };
        self.session.append(NewEvent::new(&end)?)?;
        Ok(())
    }
}

/// What comes waits. Nothing wakes the agent: as long as it can be spoken to, its turn goes on.
struct OneTurn {
    ended: Arc<AtomicBool>,
}

impl Driver for OneTurn {
    fn send(
        &self,
        agent: &Agent,
        message: Arc<Message>,
        target: Target,
        _: Wakeup,
    ) -> Result<(), InboxError> {
        if self.ended.load(SeqCst) {
            return Err(InboxError::Ended { agent: agent.id().to_string() });
        }
        agent.inbox().append(target, message)
    }

    fn status(&self) -> AgentStatus {
        if self.ended.load(SeqCst) { AgentStatus::Idle } else { AgentStatus::Running }
    }

    fn cancel(&self, agent: &Agent, _: CancelCause, waiting: Waiting) -> Result<(), InboxError> {
        match waiting {
            Waiting::Clear => agent.inbox().clear(),
            Waiting::Keep => Ok(()),
        }
    }

    fn end(&self, _: &Agent) -> BoxFuture<'static, ()> {
        self.ended.store(true, SeqCst);
        self.when_idle()
    }

    fn when_idle(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn maintain(&self, agent: &Agent) -> Result<Maintenance, NotIdle> {
        Err(NotIdle { agent: agent.id().to_string() })
    }
}

#[cfg(test)]
mod tests {
    use cordis::App;
    use dsh_llm::{ContentBlock, Role};
    use dsh_session::{InboxSpliced, InboxTarget, SESSIONS};

    use super::{Agent, Arc, InboxError, Message, Turn, agent};
    use crate::app::mount;

    async fn made(app: &App) -> (Agent, Turn) {
        mount(app, dsh_session::plugin(), ()).await.unwrap();
        let sessions = app.get(SESSIONS).unwrap();
        let sessions = sessions.get().unwrap();
        agent(app, &sessions, "a", None).unwrap()
    }

    fn kinds(agent: &Agent) -> Vec<String> {
        agent.session().events().iter().map(|event| event.kind().to_owned()).collect()
    }

    #[tokio::test]
    async fn a_message_is_logged_before_the_sender_goes_on_and_waits_once() {
        let app = App::new().unwrap();
        let (agent, _turn) = made(&app).await;
        let message = |text: &str| Arc::new(Message::user(vec![ContentBlock::text(text)]));
        let (first, second) = (message("first"), message("second"));
        agent.steer(first.clone()).unwrap();
        agent.steer(second.clone()).unwrap();
        agent.followup(message("later")).unwrap();
        assert!(matches!(agent.inject(first.clone()), Err(InboxError::Pending { .. })));
        let wrong = Arc::new(Message { role: Role::Assistant, ..Message::clone(&message("x")) });
        assert!(matches!(agent.steer(wrong), Err(InboxError::NotUser { .. })));
        let splices: Vec<InboxSpliced> =
            agent.session().events().iter().filter_map(|event| event.payload().unwrap()).collect();
        let places: Vec<(InboxTarget, u64)> =
            splices.iter().map(|splice| (splice.target, splice.start)).collect();
        let expected = [(InboxTarget::NextStep, 0), (InboxTarget::NextStep, 1), (InboxTarget::NextTurn, 0)];
        assert_eq!(places, expected);
        assert_eq!(splices[1].inserted, [Message::clone(&second)]);
    }

    #[tokio::test]
    async fn after_its_turn_the_agent_takes_no_messages() {
        let app = App::new().unwrap();
        let (agent, turn) = made(&app).await;
        assert_eq!(kinds(&agent), ["turn/start"]);
        turn.end().unwrap();
        let refused = agent.followup(Arc::new(Message::user(vec![ContentBlock::text("x")])));
        assert!(matches!(refused, Err(InboxError::Ended { .. })), "{refused:?}");
        assert_eq!(kinds(&agent), ["turn/start", "turn/end"]);
    }
}
