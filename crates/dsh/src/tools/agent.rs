//! An agent without a loop: a session in memory, a scope, one turn, and an inbox that nobody empties.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use cordis::Context;
use dsh_agent::{Agent, AgentId, AgentOptions, AgentParts, AgentRegistry, Inbox, InboxError, Target, Wakeup};
use dsh_llm::{Message, Role};
use dsh_session::{
    CreateSession, InboxSpliced, NewEvent, Session, SessionStore, TurnEnd, TurnEndReason, TurnStart,
};
use parking_lot::Mutex;

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
    let inbox = Arc::new(LoggedInbox { session: Arc::clone(&session), waiting: Mutex::default() });
    let turn = Turn { inbox: Arc::clone(&inbox) };
    Ok((Agent::new(AgentParts { session, scope, inbox, options: AgentOptions::default() }), turn))
}

/// The registry of one agent, and of those that come to work for it.
pub(crate) struct OneAgent {
    agent: Agent,
    children: Mutex<Vec<Agent>>,
}

impl OneAgent {
    pub(crate) fn new(agent: &Agent) -> Self {
        Self { agent: agent.clone(), children: Mutex::default() }
    }

    /// From here on this one works for the agent.
    pub(crate) fn add_child(&self, child: &Agent) {
        self.children.lock().push(child.clone());
    }
}

impl AgentRegistry for OneAgent {
    fn get(&self, id: &AgentId) -> Option<Agent> {
        self.list().into_iter().find(|agent| agent.id() == id)
    }

    fn list(&self) -> Vec<Agent> {
        let mut agents = vec![self.agent.clone()];
        agents.extend(self.children.lock().iter().cloned());
        agents
    }

    fn roots(&self) -> Vec<Agent> {
        vec![self.agent.clone()]
    }

    fn is_owned_by(&self, id: &AgentId, owner: &AgentId) -> bool {
        self.agent.id() == owner && self.children.lock().iter().any(|child| child.id() == id)
    }
}

/// The agent's turn, as long as it goes on.
pub(crate) struct Turn {
    inbox: Arc<LoggedInbox>,
}

impl Turn {
    /// Ends it. From here on the agent takes no messages.
    pub(crate) fn end(&self) -> anyhow::Result<()> {
        self.inbox.waiting.lock().ended = true;
        let end = TurnEnd { turn: TURN, reason: TurnEndReason::Completed {} };
        self.inbox.session.append(NewEvent::new(&end)?)?;
        Ok(())
    }
}

/// An inbox that logs what waits. Nothing wakes the agent: as long as it can be spoken to, its turn goes on.
struct LoggedInbox {
    session: Arc<Session>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    ended: bool,
    ids: BTreeSet<String>,
    /// How many messages the log has for the next turn, and for the next step. They only become more, so a place that was
    /// counted here exists in the log, whoever appends meanwhile.
    next_turn: u64,
    next_step: u64,
}

impl Waiting {
    fn logged(&mut self, target: Target) -> &mut u64 {
        match target {
            Target::NextTurn => &mut self.next_turn,
            Target::NextStep => &mut self.next_step,
        }
    }
}

impl Inbox for LoggedInbox {
    fn send(&self, message: Arc<Message>, target: Target, _wakeup: Wakeup) -> Result<(), InboxError> {
        let agent = || self.session.id().to_owned();
        if message.role != Role::User {
            return Err(InboxError::NotUser { agent: agent(), message: message.id.clone() });
        }
        message.check().map_err(|source| InboxError::Invalid { agent: agent(), source })?;
        let start = {
            let mut waiting = self.waiting.lock();
            if waiting.ended {
                return Err(InboxError::Ended { agent: agent() });
            }
            if !waiting.ids.insert(message.id.clone()) {
                return Err(InboxError::Pending { agent: agent(), message: message.id.clone() });
            }
            *waiting.logged(target)
        };
        let appended = self.append(&message, target, start);
        let mut waiting = self.waiting.lock();
        match &appended {
            Ok(()) => *waiting.logged(target) += 1,
            Err(_) => {
                waiting.ids.remove(&message.id);
            }
        }
        appended
    }
}

impl LoggedInbox {
    /// Listeners hear of it, so no lock is held.
    fn append(&self, message: &Message, target: Target, start: u64) -> Result<(), InboxError> {
        let agent = || self.session.id().to_owned();
        let inserted = vec![message.clone()];
        let spliced = InboxSpliced { target, start, removed_count: None, inserted, outcome: None };
        let event =
            NewEvent::new(&spliced).map_err(|source| InboxError::NotLossless { agent: agent(), source })?;
        self.session.append(event).map_err(|source| InboxError::Append { agent: agent(), source })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cordis::App;
    use dsh_llm::ContentBlock;
    use dsh_session::{InboxTarget, SESSIONS};

    use super::{Agent, Arc, InboxError, InboxSpliced, Message, Role, Turn, agent};
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
