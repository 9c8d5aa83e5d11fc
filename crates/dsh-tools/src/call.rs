//! A call on its way through the pipeline.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cordis::ScopeKey;
use dsh_agent::Agent;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::given::{Arguments, GivenArguments, LossyArguments, Unreadable};
use crate::progress::Progress;
use crate::run_context::RunContext;

/// What a caller asks for.
///
/// # Examples
/// ```
/// use dsh_tools::CallRequest;
///
/// let request = CallRequest::new("call_1", "read", r#"{"file_path": "README.md"}"#);
/// ```
#[derive(Clone, Debug)]
pub struct CallRequest {
    id: String,
    name: String,
    arguments: GivenArguments,
    agent: Option<Agent>,
    scope: Option<ScopeKey>,
    cancellation: Option<CancellationToken>,
    also: Option<CancellationToken>,
    context: RunContext,
}

impl CallRequest {
    /// A call of no agent that nobody cancels: the id as the model gave it, the tool's name as the model wrote it, and the
    /// model's text for the arguments, or arguments that were read already.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<GivenArguments>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            agent: None,
            scope: None,
            cancellation: None,
            also: None,
            context: RunContext::default(),
        }
    }

    /// The agent that calls: its tools, guards and listeners apply, and approval is asked in its session.
    #[must_use]
    pub fn agent(mut self, agent: &Agent) -> Self {
        self.scope = Some(agent.scope().clone());
        self.agent = Some(agent.clone());
        self
    }

    /// The scope that the call is made in, where there is no agent: its tools, guards and listeners apply.
    #[must_use]
    pub fn scope(mut self, scope: &ScopeKey) -> Self {
        self.scope = Some(scope.clone());
        self
    }

    /// Cancels the call.
    #[must_use]
    pub fn cancellation(mut self, cancellation: &CancellationToken) -> Self {
        self.cancellation = Some(cancellation.clone());
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn scope_key(&self) -> Option<&ScopeKey> {
        self.scope.as_ref()
    }

    /// Makes it a call of the body of `outer`: in the name of the same agent, in the same scope, with what travels
    /// with it where the request does not bring a value of the same type itself. What is added to either later stays there.
    #[must_use]
    pub(crate) fn nested_in(mut self, outer: &ToolCall) -> Self {
        self.agent = outer.agent().cloned();
        self.scope = outer.scope().cloned();
        self.context = self.context.over(outer.context());
        self
    }

    /// Puts the call below another token; its own one counts as before. Gives that one, whose cancellation is to be handed on
    /// to the other token for those who wait for it.
    pub(crate) fn below(&mut self, cancellation: CancellationToken) -> Option<CancellationToken> {
        let own = self.cancellation.replace(cancellation);
        self.also.clone_from(&own);
        own
    }

    /// Gives the call something for policies and bodies to read, which the model never sees; see [`RunContext`].
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.context.insert(value);
        self
    }
}

/// The identity of one execution. Opaque: it tells executions apart and leads to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallToken(u64);

impl CallToken {
    fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Debug for CallToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallToken({})", self.0)
    }
}

/// The call whose body made another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) token: CallToken,
    pub(crate) id: String,
    pub(crate) root: String,
    /// How many calls it is inside of, itself included.
    pub(crate) depth: u32,
    /// Whether it was told already: its body has kept what makes calls.
    pub(crate) over: bool,
}

/// A call on its way through the pipeline, as every listener, guard and body sees it.
///
/// Only the pipeline makes one. Name, arguments and agent are shared and cannot be changed, so a guard and a body never
/// see different ones; a listener can only make the call end sooner ([`ToolCall::limited`]), add to its
/// [`RunContext`], and, before guards are asked, have it judged anew with other arguments
/// ([`PreDecision::Replace`](crate::PreDecision::Replace)).
#[derive(Debug)]
pub struct ToolCall {
    parts: Arc<Parts>,
    /// What stands in the place of the model's arguments, if anything does.
    replaced: Option<Arc<Replaced>>,
    /// A listener's own token, below the caller's: counting a token takes a lock, counting the parts does not.
    limit: Option<CancellationToken>,
}

/// What stays the same for the whole life of a call.
#[derive(Debug)]
struct Parts {
    token: CallToken,
    id: String,
    name: String,
    arguments: Arc<Value>,
    agent: Option<Agent>,
    scope: Option<ScopeKey>,
    caller: CancellationToken,
    /// Cancels the call as well: a nested call is below its outer one, and may have a token of its own.
    also: Option<CancellationToken>,
    parent: Option<Parent>,
    context: RunContext,
    progress: Progress,
}

/// Arguments that a policy gave.
#[derive(Debug)]
struct Replaced {
    arguments: Arc<Value>,
    times: u32,
}

impl ToolCall {
    /// Reads the arguments. The call is given in any case, because even a refused one is told to `tools/result`.
    pub(crate) fn new(
        request: CallRequest,
        parent: Option<Parent>,
        max_output_bytes: usize,
    ) -> (Self, Result<(), Unreadable>) {
        let CallRequest { id, name, arguments, agent, scope, cancellation, also, context } = request;
        let (arguments, read) = match arguments.read() {
            Ok(arguments) => (arguments.into_value(), Ok(())),
            Err(error) => (Arc::new(Value::Null), Err(error)),
        };
        // The clones of a request are calls of their own.
        let context = context.unshared();
        let (token, progress) = (CallToken::fresh(), Progress::new(max_output_bytes));
        let caller = cancellation.unwrap_or_default();
        let parts =
            Parts { token, id, name, arguments, agent, scope, caller, also, parent, context, progress };
        (Self { parts: Arc::new(parts), replaced: None, limit: None }, read)
    }

    /// The same call as it is now.
    pub(crate) fn share(&self) -> Self {
        let Self { parts, replaced, limit } = self;
        Self { parts: Arc::clone(parts), replaced: replaced.clone(), limit: limit.clone() }
    }

    /// The same call with other arguments; none if they are equal to those that it has.
    pub(crate) fn replaced(&self, arguments: Map<String, Value>) -> Result<Option<Self>, LossyArguments> {
        let arguments = Arguments::new(Value::Object(arguments))?.into_value();
        if arguments == *self.arguments() {
            return Ok(None);
        }
        let replaced = Arc::new(Replaced { arguments, times: self.replacements() + 1 });
        Ok(Some(Self { replaced: Some(replaced), ..self.share() }))
    }

    /// Whether the other one is this execution with these very arguments.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.token() == other.token() && Arc::ptr_eq(self.arguments(), other.arguments())
    }

    /// Whether the caller, or a listener for what is below it, no longer wants the result.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation().is_cancelled() || self.is_cancelled_by_caller()
    }

    /// Whether the caller no longer wants the result, whatever listeners did.
    #[must_use]
    pub fn is_cancelled_by_caller(&self) -> bool {
        let also = self.parts.also.as_ref().is_some_and(CancellationToken::is_cancelled);
        also || self.parts.caller.is_cancelled()
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.parts.progress
    }

    /// How many calls it is inside of.
    pub(crate) fn depth(&self) -> u32 {
        self.parts.parent.as_ref().map_or(0, |parent| parent.depth)
    }

    pub(crate) fn parent_is_over(&self) -> bool {
        self.parts.parent.as_ref().is_some_and(|parent| parent.over)
    }

    pub(crate) fn as_parent(&self) -> Parent {
        Parent {
            token: self.token(),
            id: self.id().to_owned(),
            root: self.root_id().to_owned(),
            depth: self.depth() + 1,
            over: self.progress().is_over(),
        }
    }

    /// The identity of this execution; no two have the same, whatever their ids.
    #[must_use]
    pub fn token(&self) -> CallToken {
        self.parts.token
    }

    /// The call's id, given by the model.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.parts.id
    }

    /// The id of the call that a model asked for: of the outermost one where calls are nested.
    #[must_use]
    pub fn root_id(&self) -> &str {
        self.parts.parent.as_ref().map_or(&self.parts.id, |parent| &parent.root)
    }

    /// The tool's name, as the model wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The arguments, read once. `null` only in `tools/result` of a call whose arguments were refused.
    #[must_use]
    pub fn arguments(&self) -> &Arc<Value> {
        self.replaced.as_ref().map_or(&self.parts.arguments, |replaced| &replaced.arguments)
    }

    /// How often policies have replaced its arguments; each time it was judged from the beginning. None: they are the model's.
    #[must_use]
    pub fn replacements(&self) -> u32 {
        self.replaced.as_ref().map_or(0, |replaced| replaced.times)
    }

    /// The agent that calls; none for a call of no agent.
    #[must_use]
    pub fn agent(&self) -> Option<&Agent> {
        self.parts.agent.as_ref()
    }

    /// The scope of the agent that calls; none for a call of no agent.
    #[must_use]
    pub fn scope(&self) -> Option<&ScopeKey> {
        self.parts.scope.as_ref()
    }

    /// The execution whose body made this one; none for a call that a model asked for.
    #[must_use]
    pub fn parent(&self) -> Option<CallToken> {
        self.parts.parent.as_ref().map(|parent| parent.token)
    }

    /// The id of the call whose body made this one; none for a call that a model asked for.
    #[must_use]
    pub fn parent_id(&self) -> Option<&str> {
        self.parts.parent.as_ref().map(|parent| &*parent.id)
    }

    /// What travels with the call and is never shown to the model.
    #[must_use]
    pub fn context(&self) -> &RunContext {
        &self.parts.context
    }

    /// Whether the tool's body has been started, on any run of it.
    #[must_use]
    pub fn body_was_entered(&self) -> bool {
        self.progress().is_entered()
    }

    /// Whether a body of this execution runs still: a blocking one that was let go does, until its thread is free again. A
    /// listener that would have the body run again does so beside it.
    #[must_use]
    pub fn has_running_body(&self) -> bool {
        self.progress().has_running_body()
    }

    /// What the body has written so far; see [`ToolRun::write`](crate::ToolRun::write).
    #[must_use]
    pub fn output_so_far(&self) -> String {
        self.progress().output()
    }

    /// Drops what runs of the body have written and deferred so far, and that one asked for the end of the turn: for a
    /// listener of [`EXECUTE`](crate::EXECUTE) that is about to run the body again, because what it gave does not count. What
    /// those runs give from now on does not count either. That the body was entered stays known.
    pub fn start_over(&self) {
        self.progress().start_over();
    }

    /// Cancelled when the caller or a listener no longer wants the result.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        self.limit.as_ref().unwrap_or(&self.parts.caller)
    }

    /// The same call below a token of the listener's own, to be handed to `next`: cancelling that token ends what runs
    /// below, while the caller's own cancellation still reaches it. The call itself stays as it is, so a listener
    /// further out may run it again. There is no way to detach a call from its caller.
    #[must_use]
    pub fn limited(&self) -> (ToolCall, CancellationToken) {
        let limit = self.cancellation().child_token();
        (ToolCall { limit: Some(limit.clone()), ..self.share() }, limit)
    }
}
