//! What a batch writes: a call and a result for each of its calls, and the messages that came with the result.

use std::sync::Arc;

use cordis::chain;
use dsh_agent::{Agent, InboxError};
use dsh_llm::Message;
use dsh_session::{ErrorInfo, NewEvent, NotLossless, Payload, ToolCall, ToolResult};
use tracing::warn;

use crate::batch::{BatchError, ModelCall};
use crate::error::Failure;
use crate::outcome::ToolOutcome;

/// Where the calls of a step are written.
pub(crate) struct StepLog<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) turn: u64,
    pub(crate) step: u64,
}

impl StepLog<'_> {
    /// Writes that a call was asked for, and gives the number of that event.
    pub(crate) fn call(&self, call: &ModelCall) -> Result<u64, BatchError> {
        let data = ToolCall {
            turn: self.turn,
            step: self.step,
            call_id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        };
        let event = NewEvent::new(&data).map_err(|source| self.not_lossless(ToolCall::TYPE, call, source))?;
        self.append(ToolCall::TYPE, call, event)
    }

    /// Writes what the model is told of a call, then hands on the messages that came with it.
    pub(crate) fn result(
        &self,
        call: &ModelCall,
        asked: u64,
        event: Result<NewEvent, NotLossless>,
        outcome: &ToolOutcome,
    ) -> Result<(), BatchError> {
        let event = event.map_err(|source| self.not_lossless(ToolResult::TYPE, call, source))?;
        self.append(ToolResult::TYPE, call, event.made_from([asked]))?;
        outcome.additional_contexts().iter().try_for_each(|context| self.context(call, context))
    }

    /// What of an outcome a log can hold, with its event. What a tool gave that no log can hold does not keep the result
    /// from the model. The event is an error only if the call itself cannot be written.
    pub(crate) fn writable(
        &self,
        call: &ModelCall,
        mut outcome: ToolOutcome,
    ) -> (Result<NewEvent, NotLossless>, ToolOutcome) {
        let tool = &call.name;
        let refused = match self.event(call, &outcome) {
            Ok(event) => return (Ok(event), outcome),
            Err(refused) => refused,
        };
        if outcome.take_meta().is_some()
            && let Ok(event) = self.event(call, &outcome)
        {
            let refused = chain(&refused);
            warn!(
                "tools: metadata of tool `{tool}` was left out of its result, which no log can hold: {refused}"
            );
            return (Ok(event), outcome);
        }
        let message = format!("the result of tool \"{tool}\" cannot be kept in the log: {refused}");
        let contexts = std::mem::take(outcome.contexts_mut());
        let mut unwritable =
            ToolOutcome::failure(Failure::new(message).coded(crate::error::ErrorInfo::INVALID_TOOL_OUTPUT));
        *unwritable.contexts_mut() = contexts;
        (self.event(call, &unwritable), unwritable)
    }

    fn event(&self, call: &ModelCall, outcome: &ToolOutcome) -> Result<NewEvent, NotLossless> {
        let message = Message::tool_result(&call.id, outcome.content().to_vec(), outcome.is_error());
        let info = outcome.as_failure().and_then(Failure::info);
        let error = info.map(|info| ErrorInfo {
            name: info.name.clone().into_owned(),
            code: info.code.clone().into_owned(),
        });
        NewEvent::tool_result(&ToolResult {
            turn: self.turn,
            step: self.step,
            message: Arc::new(message),
            error,
            meta: outcome.meta().cloned(),
        })
    }

    /// A message that cannot be one is its tool's mistake, and the conversation goes on without it.
    fn context(&self, call: &ModelCall, context: &Message) -> Result<(), BatchError> {
        match self.agent.inject(Arc::new(context.clone())) {
            Ok(()) => Ok(()),
            Err(source @ (InboxError::Append { .. } | InboxError::Ended { .. })) => {
                let (agent, call) = (self.agent.id().to_string(), call.id.clone());
                Err(BatchError::Context { agent, call, source: Box::new(source) })
            }
            Err(refused) => {
                let refused = chain(&refused);
                warn!(
                    "tools: a message that came with the result of tool `{}` was left out: {refused}",
                    call.name
                );
                Ok(())
            }
        }
    }

    fn append(&self, kind: &'static str, call: &ModelCall, event: NewEvent) -> Result<u64, BatchError> {
        let session = self.agent.session();
        let appended = session.append(event).map_err(|source| BatchError::Append {
            session: session.id().to_owned(),
            kind,
            call: call.id.clone(),
            source: Box::new(source),
        })?;
        Ok(appended.seq())
    }

    fn not_lossless(&self, kind: &'static str, call: &ModelCall, source: NotLossless) -> BatchError {
        BatchError::NotLossless {
            session: self.agent.session().id().to_owned(),
            kind,
            call: call.id.clone(),
            source,
        }
    }
}
