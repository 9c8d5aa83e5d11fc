//! What the log says of a nested call: that it starts, and what came of it.

use std::sync::Arc;

use cordis::{Context, chain};
use dsh_llm::ContentBlock;
use dsh_session::{NewEvent, Payload, Session};
use tracing::warn;

use crate::call::ToolCall;
use crate::error::Failure;
use crate::given::Arguments;
use crate::keys::CODE_DISPATCH_LOG;
use crate::nested::payload::{CodeDispatch, CodeDispatchStart};
use crate::outcome::ToolOutcome;

/// A nested call whose end is about to be logged; see [`CODE_DISPATCH_LOG`](crate::CODE_DISPATCH_LOG).
#[derive(Debug)]
pub struct CodeDispatchLog {
    outer: ToolCall,
    sub_call_id: String,
    name: String,
    is_error: bool,
    content: Vec<ContentBlock>,
}

impl CodeDispatchLog {
    /// The call whose body made the nested one.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.outer
    }

    /// The id of the nested call.
    #[must_use]
    pub fn sub_call_id(&self) -> &str {
        &self.sub_call_id
    }

    /// The tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The whole content of its result.
    #[must_use]
    pub fn content(&self) -> &[ContentBlock] {
        &self.content
    }
}

/// The events of a call that was submitted. A call of no agent has none.
pub(crate) struct Record(Option<Events>);

struct Events {
    session: Arc<Session>,
    start: CodeDispatchStart,
    /// The same, ready to be appended.
    event: NewEvent,
}

impl Record {
    /// # Errors
    /// What about the arguments a log cannot hold.
    pub(crate) fn new(outer: &ToolCall, id: &str, name: &str, arguments: &Arguments) -> Result<Self, String> {
        let Some(agent) = outer.agent() else { return Ok(Self(None)) };
        let start = CodeDispatchStart {
            root_call_id: outer.root_id().to_owned(),
            parent_call_id: outer.id().to_owned(),
            sub_call_id: id.to_owned(),
            name: name.to_owned(),
            arguments: Arc::clone(arguments.value()),
        };
        let event = NewEvent::new(&start).map_err(|error| chain(&error))?;
        Ok(Self(Some(Events { session: Arc::clone(agent.session()), start, event })))
    }

    /// Logs that the call starts.
    ///
    /// # Errors
    /// Why the log did not take it.
    pub(crate) fn open(self, outer: &ToolCall) -> Result<Opened, String> {
        let record = match self.0 {
            None => None,
            Some(Events { session, start, event }) => {
                session.append(event).map_err(|error| chain(&error))?;
                Some((session, start))
            }
        };
        outer.progress().nested().enter();
        Ok(Opened { outer: outer.share(), record, ended: None })
    }
}

/// A call that was started. Its end is logged exactly once: when that is dropped at the latest.
pub(crate) struct Opened {
    outer: ToolCall,
    record: Option<(Arc<Session>, CodeDispatchStart)>,
    ended: Option<(bool, Vec<ContentBlock>)>,
}

impl Opened {
    /// Whether anybody keeps a log.
    pub(crate) fn is_logged(&self) -> bool {
        self.record.is_some()
    }

    pub(crate) fn end(&mut self, outcome: &ToolOutcome) {
        self.ended = Some((outcome.is_error(), outcome.content().to_vec()));
    }

    /// Logs the end, with the content that listeners make of it.
    pub(crate) async fn settle(mut self, ctx: &Context) {
        let (Some((_, start)), Some((is_error, content))) = (&self.record, &self.ended) else { return };
        let mut log = CodeDispatchLog {
            outer: self.outer.share(),
            sub_call_id: start.sub_call_id.clone(),
            name: start.name.clone(),
            is_error: *is_error,
            content: content.clone(),
        };
        let shaped = ctx.waterfall(CODE_DISPATCH_LOG, &mut log, &(), unmodified).await;
        match shaped {
            Ok(shaped) => {
                let event = self.event(*is_error, shaped);
                match event {
                    Ok(event) => {
                        self.append(event);
                        self.record = None;
                    }
                    Err(reason) => self.warn(&reason),
                }
            }
            Err(panic) => self.warn(&chain(&panic)),
        }
        // What is left to be logged is logged as it is.
    }

    fn warn(&self, reason: &str) {
        let name = self.record.as_ref().map(|(_, start)| start.name.as_str()).unwrap_or_default();
        warn!(
            "tools: the log content of nested call `{name}` could not be shaped, so it is logged unmodified: {reason}"
        );
    }

    fn event(&self, is_error: bool, content: Vec<ContentBlock>) -> Result<NewEvent, String> {
        let Some((_, start)) = &self.record else { return Err("there is no log".to_owned()) };
        let CodeDispatchStart { root_call_id, parent_call_id, sub_call_id, name, arguments } = start.clone();
        let end =
            CodeDispatch { root_call_id, parent_call_id, sub_call_id, name, arguments, is_error, content };
        NewEvent::new(&end).map_err(|error| chain(&error))
    }

    fn append(&self, event: NewEvent) {
        let Some((session, start)) = &self.record else { return };
        if let Err(error) = session.append(event) {
            let (kind, id) = (CodeDispatch::TYPE, &start.sub_call_id);
            warn!("tools: `{kind}` of nested call `{id}` was not logged: {}", chain(&error));
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.record.is_some() {
            let (is_error, content) = self
                .ended
                .take()
                .unwrap_or_else(|| (true, ToolOutcome::failure(Failure::aborted()).content().to_vec()));
            let event = self.event(is_error, content).or_else(|reason| {
                let unwritable = format!("Error: the result cannot be kept in the log: {reason}");
                self.event(is_error, vec![ContentBlock::text(unwritable)])
            });
            match event {
                Ok(event) => self.append(event),
                Err(reason) => warn!("tools: the end of a nested call was not logged: {reason}"),
            }
        }
        self.outer.progress().nested().leave();
    }
}

async fn unmodified(_: &(), log: &mut CodeDispatchLog) -> Vec<ContentBlock> {
    log.content.clone()
}
