//! One step: the model is asked, again if a listener says so, and what it answers is done.

use std::sync::Arc;

use dsh_agent::{REQUEST_ERROR, Recovered, Recovery, RequestError};
use dsh_llm::{
    Assembler, FinishReason, LlmError, LlmFailure, Message, ModelStream, RetryPolicy, StreamError, ToolSchema,
};
use dsh_prompt::PromptAssembly;
use dsh_session::{AssistantChunk, AssistantMessage, NewEvent};
use dsh_tools::{Batch, ModelCall};
use tokio_util::sync::CancellationToken;

use crate::fail::Fail;
use crate::request::Asked;
use crate::steps::StepResult;
use crate::turns::Run;

/// What of a prompt goes into requests: the same in every attempt of a step.
pub(crate) struct Instructions {
    pub(crate) system: Option<Arc<str>>,
    pub(crate) tools: Arc<[ToolSchema]>,
}

/// An answer as far as it came.
struct Answer {
    assembler: Assembler,
    /// The events of its pieces.
    pieces: Vec<u64>,
    cancellation: CancellationToken,
}

impl Run {
    /// Asks the model until it answers, and runs the tools that it calls.
    pub(crate) async fn step(&mut self, assembly: PromptAssembly) -> Result<StepResult, Fail> {
        self.go_on()?;
        let system = Some(assembly.render_prompt()?).filter(|system| !system.is_empty());
        let instructions = Instructions { system: system.map(Into::into), tools: assembly.tools.into() };
        loop {
            let Asked { provider, model, retry_policy, stream } = self.ask(&instructions).await?;
            self.go_on()?;
            let answer = self.answer(stream, &provider, &model).await?;
            match answer.assembler.finish() {
                FinishReason::Error { failure } | FinishReason::Aborted { failure } => {
                    self.recover(provider, failure, retry_policy).await?;
                }
                finish => {
                    let message = Arc::new(answer.assembler.message(provider, model)?);
                    self.say(&answer, message.clone(), None)?;
                    return self.act(&message, finish).await;
                }
            }
        }
    }

    /// Reads an answer to its end, piece by piece into the log.
    async fn answer(&self, mut stream: ModelStream, provider: &str, model: &str) -> Result<Answer, Fail> {
        let cancellation = self.activity.cancellation();
        let mut answer = Answer { assembler: Assembler::new(), pieces: Vec::new(), cancellation };
        let read = self.read(&mut stream, &mut answer).await;
        if read.is_err() && self.activity.is_cancelled() {
            let blocks = answer.assembler.interrupted_blocks();
            if !blocks.is_empty() {
                let message = Message::assistant(blocks, provider, model);
                self.say(&answer, Arc::new(message), Some(true))?;
            }
        }
        read.map(|()| answer)
    }

    async fn read(&self, stream: &mut ModelStream, answer: &mut Answer) -> Result<(), Fail> {
        loop {
            // An answer that is always there keeps nobody else on this thread from going on.
            tokio::task::consume_budget().await;
            let piece = tokio::select! {
                biased;
                () = answer.cancellation.cancelled() => return Err(Fail::Cancelled),
                piece = stream.next() => piece,
            };
            // Also one that came together with the cancellation is not logged.
            self.go_on()?;
            let chunk = match piece {
                Some(Ok(chunk)) => chunk,
                Some(Err(StreamError::Raised(raised))) => return Err(Fail::boxed(raised)),
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            };
            let data = AssistantChunk { turn: self.turn, step: self.step, chunk };
            let event = self.session().append(NewEvent::new(&data)?)?;
            answer.pieces.push(event.seq());
            answer.assembler.add(&data.chunk)?;
        }
    }

    /// Adds an answer to the conversation.
    fn say(&self, answer: &Answer, message: Arc<Message>, interrupted: Option<bool>) -> Result<(), Fail> {
        let usage = answer.assembler.usage();
        let said = AssistantMessage { turn: self.turn, step: self.step, message, usage, interrupted };
        let event = NewEvent::answer(&said)?.made_from(answer.pieces.as_slice());
        self.session().append(event)?;
        Ok(())
    }

    /// Asks whether the request is made again. If not, its failure is the step's.
    async fn recover(
        &self,
        provider: String,
        failure: LlmFailure,
        retry_policy: Option<RetryPolicy>,
    ) -> Result<(), Fail> {
        let mut error = RequestError {
            agent: self.agent().clone(),
            turn: self.turn,
            step: self.step,
            provider,
            failure: failure.clone(),
            retry_policy,
            cancellation: self.activity.cancellation(),
        };
        let recovered = self.asked(self.parts.ctx.waterfall(REQUEST_ERROR, &mut error, &(), give_up)).await?;
        self.go_on()?;
        match recovered?.map_err(Fail::boxed)? {
            Recovery::Retry => Ok(()),
            Recovery::None => Err(LlmError::try_from(failure)?.into()),
        }
    }

    /// Does what an answer asks for.
    async fn act(&self, message: &Message, finish: FinishReason) -> Result<StepResult, Fail> {
        if matches!(finish, FinishReason::MaxTokens {}) {
            return Ok(StepResult::MaxTokens);
        }
        let calls = ModelCall::all_of(&message.content);
        if calls.is_empty() {
            return Ok(StepResult::Completed);
        }
        let batch = Batch {
            agent: self.agent().clone(),
            turn: self.turn,
            step: self.step,
            calls,
            finish,
            max_parallel: self.parts.max_parallel,
            cancellation: self.activity.cancellation(),
        };
        let outcomes = self.parts.tools.get()?.execute_batch(&self.parts.ctx, batch).await?;
        self.go_on()?;
        let concluded = outcomes.iter().any(dsh_tools::ToolOutcome::concludes_turn);
        Ok(if concluded { StepResult::Completed } else { StepResult::OwesRequest })
    }
}

async fn give_up((): &(), _: &mut RequestError) -> Recovered {
    Ok(Recovery::None)
}
