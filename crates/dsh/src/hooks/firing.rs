//! Something happens, on the way that it takes for every agent, and what comes of it.

use std::sync::Arc;

use cordis::Next;
use dsh_agent::{
    CREATED, DISPOSED, PRE_STEP, PreStep, PreStepDecision, SESSION_START, SessionStart, TURN_STOPPING,
    TurnStopping,
};
use dsh_hooks::{Point, merge};
use dsh_llm::{ContentBlock, Message};
use dsh_session::InboxSpliced;
use dsh_tools::{
    CallRequest, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled, ToolCall, ToolDefinition,
    ToolError, ToolRun,
};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::hooks::coverage::running;
use crate::hooks::occasion::Occasion;
use crate::hooks::stage::{Loaded, Stage};

/// The call's id: there is one call only.
const CALL: &str = "call-1";
/// The number of the only turn.
const TURN: u64 = 1;

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    pub(crate) decision: Decision,
    pub(crate) reason: Option<String>,
    /// The arguments that the tool would get.
    pub(crate) input: Option<Value>,
    /// Whether they are others than those that were given.
    pub(crate) rewritten: bool,
    /// What the model is told besides.
    pub(crate) contexts: Vec<String>,
}

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Decision {
    /// A call may be made.
    Allow,
    /// Somebody is asked about a call.
    Ask,
    /// A call may not be made.
    Deny,
    /// A result reaches the model.
    Accept,
    /// A result is kept from the model.
    Block,
    /// A message reaches the model.
    Enter,
    /// A message does not reach the model.
    Reject,
    /// The turn ends.
    End,
    /// The turn goes on.
    Continue,
    /// There is nothing to decide.
    Pass,
}

impl Decision {
    /// Whether things go on as they would without hooks.
    pub(crate) fn goes_on(self) -> bool {
        match self {
            Self::Allow | Self::Accept | Self::Enter | Self::End | Self::Pass => true,
            Self::Ask | Self::Deny | Self::Block | Self::Reject | Self::Continue => false,
        }
    }
}

impl Outcome {
    fn of(decision: Decision) -> Self {
        Self { decision, reason: None, input: None, rewritten: false, contexts: Vec::new() }
    }
}

/// Has it happen. None if it was cancelled before anything came of it.
pub(crate) async fn fire(
    stage: &Stage,
    occasion: &Occasion,
    files: &[Loaded],
    cancellation: &CancellationToken,
) -> anyhow::Result<Option<Outcome>> {
    let (app, agent) = (&stage.host.app, stage.host.agent.clone());
    let expected = |point| {
        let of_file =
            |loaded: &Loaded| running(loaded.hooks.iter().enumerate(), point, occasion.subject()).len();
        files.iter().map(of_file).sum::<usize>()
    };
    // A child begins before it ends; what runs when it begins is not asked for then.
    if !matches!(occasion, Occasion::SubagentStop {}) {
        stage.open();
    }
    let outcome = match occasion {
        Occasion::PreToolUse { tool, input } => before_call(stage, tool, input, cancellation).await?,
        Occasion::PostToolUse { tool, input, response } => {
            after_call(stage, tool, input, response, cancellation).await?
        }
        Occasion::UserPromptSubmit { prompt } => {
            let messages = vec![Arc::new(Message::user(vec![ContentBlock::text(prompt.clone())]))];
            let mut step =
                PreStep { agent, messages, turn: TURN, step: 1, cancellation: cancellation.clone() };
            let enter = async |(): &(), step: &mut PreStep| PreStepDecision::Enter {
                messages: step.messages.clone(),
            };
            match app.waterfall(PRE_STEP, &mut step, &(), enter).await? {
                PreStepDecision::Enter { messages } => {
                    let contexts =
                        messages.iter().skip(step.messages.len()).flat_map(|message| texts(message));
                    Outcome { contexts: contexts.collect(), ..Outcome::of(Decision::Enter) }
                }
                PreStepDecision::Reject => {
                    let merged = merge(&outputs(stage, Point::UserPromptSubmit));
                    Outcome { reason: merged.reason, ..Outcome::of(Decision::Reject) }
                }
            }
        }
        Occasion::Stop {} => {
            let stopping = TurnStopping { agent, turn: TURN, cancellation: cancellation.clone() };
            app.serial(TURN_STOPPING, &stopping).await.map_err(|error| anyhow::anyhow!(error))?;
            match said_to_agent(stage) {
                Some(reason) => Outcome { reason: Some(reason), ..Outcome::of(Decision::Continue) },
                None => Outcome::of(Decision::End),
            }
        }
        Occasion::SessionStart { source } => {
            app.emit(SESSION_START, &SessionStart { agent, source: *source });
            told_aside(stage, Point::SessionStart, expected(Point::SessionStart), cancellation).await
        }
        Occasion::SubagentStart {} => {
            let child = stage.child()?;
            app.announce(CREATED, &child).map_err(|error| anyhow::anyhow!(error))?;
            told_aside(stage, Point::SubagentStart, expected(Point::SubagentStart), cancellation).await
        }
        Occasion::SubagentStop {} => {
            let child = stage.child()?;
            app.announce(CREATED, &child).map_err(|error| anyhow::anyhow!(error))?;
            told_aside(stage, Point::SubagentStart, expected(Point::SubagentStart), cancellation).await;
            stage.open();
            app.emit(DISPOSED, &child);
            told_aside(stage, Point::SubagentStop, expected(Point::SubagentStop), cancellation).await;
            Outcome::of(Decision::Pass)
        }
    };
    Ok((!cancellation.is_cancelled()).then_some(outcome))
}

/// Whether a call may be made: the tool is one that does nothing, and no hook of its result runs.
async fn before_call(
    stage: &Stage,
    tool: &str,
    input: &Value,
    cancellation: &CancellationToken,
) -> anyhow::Result<Outcome> {
    let decided = Arc::new(Mutex::new(None));
    stage.host.app.on(PRE_EXECUTE).prepend().with(Arc::clone(&decided)).run(watch_decision)?;
    stage.host.app.on(POST_EXECUTE).prepend().run(accept)?;
    let text = call(stage, tool, input, "", cancellation).await?;
    let decided = decided.lock().take();
    let (decision, arguments) =
        decided.unwrap_or((PreDecision::Deny { reason: text.clone() }, Arc::new(input.clone())));
    let given = |decision, reason| Outcome {
        reason,
        rewritten: *arguments != *input,
        input: Some((*arguments).clone()),
        ..Outcome::of(decision)
    };
    Ok(match decision {
        PreDecision::Allow => given(Decision::Allow, None),
        PreDecision::Ask { reason } => given(Decision::Ask, reason),
        PreDecision::Deny { reason } => Outcome { reason: Some(reason), ..Outcome::of(Decision::Deny) },
        // It was refused instead of being judged anew.
        PreDecision::Replace { .. } => Outcome { reason: Some(text), ..Outcome::of(Decision::Deny) },
    })
}

/// Whether a result reaches the model: the tool is one that gives it, and no hook of the call runs.
async fn after_call(
    stage: &Stage,
    tool: &str,
    input: &Value,
    response: &str,
    cancellation: &CancellationToken,
) -> anyhow::Result<Outcome> {
    let decided = Arc::new(Mutex::new(None));
    stage.host.app.on(PRE_EXECUTE).prepend().run(allow)?;
    stage.host.app.on(POST_EXECUTE).prepend().with(Arc::clone(&decided)).run(watch_result)?;
    let text = call(stage, tool, input, response, cancellation).await?;
    let decided = decided.lock().take();
    Ok(match decided {
        Some(PostDecision::Accept { contexts, .. }) => {
            Outcome { contexts: contexts.iter().flat_map(texts).collect(), ..Outcome::of(Decision::Accept) }
        }
        Some(PostDecision::Block { feedback, contexts }) => Outcome {
            reason: Some(feedback.iter().filter_map(text_of).collect::<Vec<_>>().join("\n")),
            contexts: contexts.iter().flat_map(texts).collect(),
            ..Outcome::of(Decision::Block)
        },
        None => Outcome { reason: Some(text), ..Outcome::of(Decision::Block) },
    })
}

/// Calls a tool that only answers; gives what the model would read.
async fn call(
    stage: &Stage,
    tool: &str,
    input: &Value,
    response: &str,
    cancellation: &CancellationToken,
) -> anyhow::Result<String> {
    let tools = stage.host.tools.get()?;
    let answer = Value::from(response);
    let stand_in = ToolDefinition::raw(tool.to_owned(), "Does nothing.", json!({ "type": "object" })).run(
        move |_: Arc<Value>, _: ToolRun| {
            let answer = answer.clone();
            async move { Ok::<_, ToolError>(answer) }
        },
    );
    tools.register(&stage.host.app, stand_in)?;
    let request =
        CallRequest::new(CALL, tool, input.clone()).agent(&stage.host.agent).cancellation(cancellation);
    Ok(tools.execute(&stage.host.app, request).await.text())
}

type Decided<T> = Arc<Mutex<Option<T>>>;

async fn watch_decision(
    decided: &Decided<(PreDecision, Arc<Value>)>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, PreDecision>,
) -> PreDecision {
    let decision = next.run(call).await;
    *decided.lock() = Some((decision.clone(), Arc::clone(call.arguments())));
    decision
}

async fn watch_result(
    decided: &Decided<PostDecision>,
    settled: &mut Settled,
    next: Next<'_, Settled, PostDecision>,
) -> PostDecision {
    let decision = next.run(settled).await;
    *decided.lock() = Some(decision.clone());
    decision
}

async fn allow(_call: &mut ToolCall, _next: Next<'_, ToolCall, PreDecision>) -> PreDecision {
    PreDecision::Allow
}

async fn accept(_settled: &mut Settled, _next: Next<'_, Settled, PostDecision>) -> PostDecision {
    PostDecision::Accept { replace: None, contexts: Vec::new() }
}

/// Waits for hooks that no agent waits for.
async fn told_aside(stage: &Stage, point: Point, count: usize, cancellation: &CancellationToken) -> Outcome {
    tokio::select! {
        biased;
        () = stage.until(point, count) => {}
        () = cancellation.cancelled() => {}
    }
    let contexts = merge(&outputs(stage, point)).additional_contexts;
    Outcome { contexts, ..Outcome::of(Decision::Pass) }
}

fn outputs(stage: &Stage, point: Point) -> Vec<dsh_hooks::HookOutput> {
    stage.runs(point).into_iter().map(|ran| ran.run.output).collect()
}

/// What was said to the agent, which has its turn go on.
fn said_to_agent(stage: &Stage) -> Option<String> {
    let events = stage.host.agent.session().events();
    let said = events.iter().filter_map(|event| event.payload::<InboxSpliced>().ok().flatten());
    let texts: Vec<String> =
        said.flat_map(|splice| splice.inserted.iter().flat_map(texts).collect::<Vec<_>>()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

fn texts(message: &Message) -> Vec<String> {
    message.content.iter().filter_map(text_of).collect()
}

fn text_of(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text { text } => Some(text.clone()),
        _ => None,
    }
}
