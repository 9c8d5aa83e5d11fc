//! The steps of a turn: what is said, whether a step begins, and when the turn is over.

use std::sync::Arc;

use dsh_agent::{PRE_STEP, PreStep, PreStepDecision, TURN_STOPPING, Target, TurnStopping};
use dsh_llm::Message;
use dsh_prompt::{AssembleContext, PromptAssembly};
use dsh_session::{NewEvent, StepEnd, StepStart, TurnEndReason};

use crate::fail::Fail;
use crate::turns::{Ended, Run};

/// What a step leaves the turn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepResult {
    /// The model was done, or a tool ended the turn.
    Completed,
    /// The answer reached its limit of tokens.
    MaxTokens,
    /// The model waits for what the tools gave.
    OwesRequest,
}

/// A step that begins.
struct Entered {
    assembly: PromptAssembly,
    messages: Vec<Arc<Message>>,
}

impl Run {
    /// Steps until the turn is over.
    pub(crate) async fn steps(&mut self, first: Vec<Arc<Message>>) -> Result<Ended, Fail> {
        let mut claimed = Some(first);
        let mut ending = None;
        loop {
            // A turn in which nothing is waited for keeps nobody else on this thread from going on.
            tokio::task::consume_budget().await;
            self.go_on()?;
            let claimed = match claimed.take() {
                Some(first) => first,
                None => self.claim(Target::NextStep)?,
            };
            let number = self.step + 1;
            let Some(Entered { assembly, messages }) = self.pre_step(number, claimed).await? else {
                return Ok(Ended { reason: TurnEndReason::Blocked {}, goes_on: false });
            };
            if messages.is_empty() {
                match &ending {
                    Some(StepResult::Completed | StepResult::MaxTokens) => break,
                    // Nothing is left of what woke the agent.
                    None => return Ok(Ended { reason: TurnEndReason::Completed {}, goes_on: false }),
                    Some(StepResult::OwesRequest) => {}
                }
            }
            self.go_on()?;
            self.step = number;
            self.log(&StepStart { turn: self.turn, step: number })?;
            let stepped = self.entered(assembly, &messages).await;
            let closed = self.log(&StepEnd { turn: self.turn, step: number });
            let result = stepped?;
            closed?;
            // An answer that was cut stays cut, whatever the turn did afterwards.
            if ending != Some(StepResult::MaxTokens) {
                ending = Some(result);
            }
            self.go_on()?;
            if ending == Some(StepResult::OwesRequest) {
                continue;
            }
            if self.is_quiet() {
                self.stopping().await?;
            }
            if self.is_quiet() {
                break;
            }
        }
        let reason = match ending {
            Some(StepResult::MaxTokens) => TurnEndReason::MaxTokens {},
            _ => TurnEndReason::Completed {},
        };
        Ok(Ended { reason, goes_on: true })
    }

    /// What a step begins with; none if a listener is against it.
    async fn pre_step(&mut self, number: u64, claimed: Vec<Arc<Message>>) -> Result<Option<Entered>, Fail> {
        let cancellation = self.activity.cancellation();
        let agent = self.agent().clone();
        let context = AssembleContext::of(Arc::new(agent.clone())).cancelled_by(cancellation.clone());
        let assembly = {
            let prompt = self.parts.prompt.get()?;
            self.asked(prompt.assemble(&self.parts.ctx, &context)).await??
        };
        self.go_on()?;
        let sections = assembly.render_contexts()?;
        let news = self.memory.lock().snapshot.update(self.session(), sections);
        let mut step = PreStep { agent, messages: claimed, turn: self.turn, step: number, cancellation };
        let decision = self.asked(self.parts.ctx.waterfall(PRE_STEP, &mut step, &news, enter)).await??;
        self.go_on()?;
        Ok(match decision {
            PreStepDecision::Enter { messages } => Some(Entered { assembly, messages }),
            PreStepDecision::Reject => None,
        })
    }

    /// A step that has begun: what is said goes into the conversation, then the model is asked.
    async fn entered(
        &mut self,
        assembly: PromptAssembly,
        messages: &[Arc<Message>],
    ) -> Result<StepResult, Fail> {
        for message in messages {
            let event = self.session().append(NewEvent::user(message.clone())?)?;
            self.memory.lock().snapshot.note(&event);
        }
        self.step(assembly).await
    }

    /// Whether nothing waits for the next step.
    fn is_quiet(&self) -> bool {
        self.agent().inbox().waits_for(Target::NextStep) == 0
    }

    async fn stopping(&self) -> Result<(), Fail> {
        let stopping = TurnStopping {
            agent: self.agent().clone(),
            turn: self.turn,
            cancellation: self.activity.cancellation(),
        };
        self.asked(self.parts.ctx.serial(TURN_STOPPING, &stopping)).await?.map_err(Fail::boxed)?;
        self.go_on()
    }
}

/// A step begins with what was taken out of the inbox and, last, the news about the runtime context.
async fn enter(news: &Option<Arc<Message>>, step: &mut PreStep) -> PreStepDecision {
    let messages = step.messages.iter().chain(news).cloned().collect();
    PreStepDecision::Enter { messages }
}
