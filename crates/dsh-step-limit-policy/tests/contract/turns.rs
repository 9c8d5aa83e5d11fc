//! A loop of turns whose model answers from a script, with the order of events that a loop has.

use std::collections::VecDeque;
use std::sync::Arc;

use cordis::{BoxFuture, Context};
use dsh_agent::{
    Activity, Agent, AgentLoop, PRE_STEP, PreStep, PreStepDecision, TURN_STOPPING, Target, TurnStopping,
};
use dsh_llm::{ContentBlock, Message};
use dsh_session::{
    AssistantMessage, NewEvent, Payload, StepEnd, StepStart, TurnEnd, TurnEndReason, TurnStart,
};
use parking_lot::Mutex;

/// What a model does in one step.
pub(crate) enum Answer {
    /// It calls a tool, and waits for what that gives.
    Calls,
    /// The same; meanwhile something happens.
    CallsWhile(Box<dyn FnOnce(&Agent) + Send>),
    /// It is done.
    Done,
}

/// A loop, and the answers of its model; past the last one it calls tools for ever.
#[derive(Clone)]
pub(crate) struct Turns {
    pub(crate) ctx: Context,
    pub(crate) script: Arc<Mutex<VecDeque<Answer>>>,
}

impl AgentLoop for Turns {
    fn wake(&self, activity: Activity) -> BoxFuture<'static, ()> {
        let turns = self.clone();
        Box::pin(async move {
            let events = activity.agent().session().events();
            let mut turn = events.iter().filter(|event| event.kind() == TurnStart::TYPE).count() as u64;
            loop {
                turn += 1;
                let goes_on = turns.turn(&activity, turn).await;
                if !(goes_on && activity.go_on()) {
                    return;
                }
            }
        })
    }
}

impl Turns {
    /// One turn. Whether another one follows if something waits.
    async fn turn(&self, activity: &Activity, turn: u64) -> bool {
        log(activity, &TurnStart { turn });
        let (reason, goes_on) = self.steps(activity, turn).await;
        log(activity, &TurnEnd { turn, reason });
        goes_on
    }

    async fn steps(&self, activity: &Activity, turn: u64) -> (TurnEndReason, bool) {
        let agent = activity.agent();
        let (mut step, mut owes_request) = (0, None);
        loop {
            step += 1;
            let target = if step == 1 { Target::NextTurn } else { Target::NextStep };
            let messages = agent.inbox().claim(target, turn).unwrap();
            let cancellation = activity.cancellation();
            let mut proposed = PreStep { agent: agent.clone(), messages, turn, step, cancellation };
            let enter = async |(): &(), step: &mut PreStep| PreStepDecision::Enter {
                messages: step.messages.clone(),
            };
            let decision = self.ctx.waterfall(PRE_STEP, &mut proposed, &(), enter).await.unwrap();
            if let Some(reason) = activity.cause() {
                return (TurnEndReason::Aborted { reason }, false);
            }
            let PreStepDecision::Enter { messages } = decision else {
                return (TurnEndReason::Blocked {}, false);
            };
            match owes_request {
                None if messages.is_empty() => return (TurnEndReason::Completed {}, false),
                Some(false) if messages.is_empty() => return (TurnEndReason::Completed {}, true),
                _ => {}
            }
            log(activity, &StepStart { turn, step });
            for message in messages {
                agent.session().append(NewEvent::user(message).unwrap()).unwrap();
            }
            let owes = self.answer(agent, turn, step);
            owes_request = Some(owes);
            log(activity, &StepEnd { turn, step });
            if !owes && agent.inbox().pending().list(Target::NextStep).is_empty() {
                let cancellation = activity.cancellation();
                let stopping = TurnStopping { agent: agent.clone(), turn, cancellation };
                self.ctx.serial(TURN_STOPPING, &stopping).await.unwrap();
            }
            if !owes && agent.inbox().pending().list(Target::NextStep).is_empty() {
                return (TurnEndReason::Completed {}, true);
            }
        }
    }

    /// Whether the model waits for what its tools gave.
    fn answer(&self, agent: &Agent, turn: u64, step: u64) -> bool {
        let answer = self.script.lock().pop_front().unwrap_or(Answer::Calls);
        let text = if matches!(answer, Answer::Done) { "done" } else { "calls" };
        let message = Arc::new(Message::assistant(vec![ContentBlock::text(text)], "acme", "m"));
        let said = AssistantMessage { turn, step, message, usage: None, interrupted: None };
        agent.session().append(NewEvent::answer(&said).unwrap().made_from([].as_slice())).unwrap();
        match answer {
            Answer::Done => false,
            Answer::Calls => true,
            Answer::CallsWhile(happens) => {
                happens(agent);
                true
            }
        }
    }
}

fn log<P: Payload>(activity: &Activity, data: &P) {
    activity.agent().session().append(NewEvent::new(data).unwrap()).unwrap();
}
