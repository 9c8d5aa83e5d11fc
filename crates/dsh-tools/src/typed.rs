//! Tools made of Rust types: arguments that are read into a struct, and a value that is written from one.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxError, BoxFuture};
use dsh_llm::ContentBlock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::read_arguments;
use crate::call::ToolCall;
use crate::code::Body;
use crate::definition::{Check, ToolDefinition};
use crate::error::{ErrorInfo, ToolError};
use crate::outcome::ToolOutcome;
use crate::run::ToolRun;
use crate::schema::{Deep, Schema};
use crate::tool_types::{ToolArguments, ToolValue};
use crate::views::{CallView, LoggedResult, ResultView};

/// Begins a tool whose arguments are a Rust type: its fields are the parameters, their doc comments the descriptions.
///
/// Any text is a name here; what the APIs of models take is 1 to 64 ASCII letters, digits, `_` and `-`.
///
/// serde does not read the attributes that limit values, `#[schemars(range(..))]`, `length`, `pattern` and the like: a tool
/// whose types have one is refused when it is registered. Check such a limit in the body and return a [`ToolError`], or use
/// a type that holds no other values: `u8`, an enum, or a type of your own that is read with `#[serde(try_from = ..)]` and
/// described `#[schemars(with = ..)]` a plain one. See [`Schema::of`] for what a schema can say.
///
/// # Examples
/// ```
/// use dsh_tools::{ToolError, ToolRun, tool};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greeting {
///     /// Whom to greet.
///     name: String,
/// }
///
/// async fn greet(greeting: Greeting, _run: ToolRun) -> Result<String, ToolError> {
///     Ok(format!("Good evening, {}.", greeting.name))
/// }
///
/// let greet = tool("greet", "Greets somebody.").run(greet);
/// ```
pub fn tool(name: impl Into<Cow<'static, str>>, description: impl Into<Cow<'static, str>>) -> ToolBuilder {
    ToolBuilder { name: name.into(), description: description.into(), state: () }
}

/// A tool whose body is still to come.
#[derive(Debug)]
#[must_use = "a tool needs a body: `.run(..)`"]
pub struct ToolBuilder<S = ()> {
    name: Cow<'static, str>,
    description: Cow<'static, str>,
    state: S,
}

/// A tool whose body takes `A` and gives `R`.
#[must_use = "a tool is offered by `tools.register(ctx, tool)`"]
pub struct TypedTool<A, R> {
    definition: ToolDefinition,
    types: PhantomData<fn(A) -> R>,
}

impl ToolBuilder {
    /// Lends `state` to the body as its first argument: an `Arc<S>` of its own to an async body, `&S` to a blocking one. The
    /// state is dropped with the registration, or with the last body that runs longer.
    pub fn with<S: Send + Sync + 'static>(self, state: S) -> ToolBuilder<Arc<S>> {
        ToolBuilder { name: self.name, description: self.description, state: Arc::new(state) }
    }

    /// Gives the tool its body: an `async fn` item or an `async` closure. Its error is a [`ToolError`], which `?` makes of any
    /// error and [`ToolError::new`] of a text. It is polled where the call is executed; when the
    /// call is cancelled it should end soon, and is dropped at its next await after the runtime's grace time.
    pub fn run<A, R, F, Fut>(self, body: F) -> TypedTool<A, R>
    where
        A: ToolArguments,
        R: ToolValue,
        F: Fn(A, ToolRun) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        let start = move |arguments, run| started(body(arguments, run));
        TypedTool::new(self.name, self.description, Body::Async(Box::new(reading(start))))
    }

    /// Gives the tool a body that blocks, with the same error as that of [`run`](Self::run): it runs on one of the runtime's own bounded threads. When the call is cancelled it
    /// should end soon ([`ToolRun::is_cancelled`]); after the grace time the call ends without it, and the thread is left
    /// to it and named as long as it runs.
    pub fn run_blocking<A, R, F>(self, body: F) -> TypedTool<A, R>
    where
        A: ToolArguments,
        R: ToolValue,
        F: Fn(A, ToolRun) -> Result<R, ToolError> + Send + Sync + 'static,
    {
        let body = move |arguments: Arc<Value>, run| written(body(read(&arguments)?, run)?);
        TypedTool::new(self.name, self.description, Body::Blocking(Box::new(body)))
    }
}

impl<S: Send + Sync + 'static> ToolBuilder<Arc<S>> {
    /// As the plain form; the body is given an `Arc` of its state first.
    pub fn run<A, R, F, Fut>(self, body: F) -> TypedTool<A, R>
    where
        A: ToolArguments,
        R: ToolValue,
        F: Fn(Arc<S>, A, ToolRun) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        let state = self.state;
        let start = move |arguments, run| started(body(Arc::clone(&state), arguments, run));
        TypedTool::new(self.name, self.description, Body::Async(Box::new(reading(start))))
    }

    /// As the plain form; the body is lent `&S`, its state, first.
    pub fn run_blocking<A, R, F>(self, body: F) -> TypedTool<A, R>
    where
        A: ToolArguments,
        R: ToolValue,
        F: Fn(&S, A, ToolRun) -> Result<R, ToolError> + Send + Sync + 'static,
    {
        let state = self.state;
        let body = move |arguments: Arc<Value>, run| written(body(&state, read(&arguments)?, run)?);
        TypedTool::new(self.name, self.description, Body::Blocking(Box::new(body)))
    }
}

type Started = BoxFuture<'static, Result<Value, ToolError>>;

fn started<R: Serialize + 'static>(
    body: impl Future<Output = Result<R, ToolError>> + Send + 'static,
) -> Started {
    Box::pin(async move { written(body.await?) })
}

/// A body that reads its arguments before it starts.
fn reading<A: DeserializeOwned>(
    start: impl Fn(A, ToolRun) -> Started + Send + Sync,
) -> impl Fn(Arc<Value>, ToolRun) -> Started + Send + Sync {
    move |arguments, run| match read(&arguments) {
        Ok(arguments) => start(arguments, run),
        Err(error) => Box::pin(std::future::ready(Err(error))),
    }
}

fn read<A: DeserializeOwned>(arguments: &Value) -> Result<A, ToolError> {
    read_arguments(arguments).map_err(|violation| {
        ToolError::new(format!("invalid arguments: {violation}")).coded(ErrorInfo::INVALID_ARGS)
    })
}

fn written<R: Serialize>(value: R) -> Result<Value, ToolError> {
    serde_json::to_value(value).map_err(|error| {
        ToolError::new(format!("the tool's value cannot be written as JSON: {error}"))
            .coded(ErrorInfo::INVALID_TOOL_OUTPUT)
    })
}

impl<A, R> TypedTool<A, R>
where
    A: ToolArguments,
    R: ToolValue,
{
    fn new(name: Cow<'static, str>, description: Cow<'static, str>, body: Body) -> Self {
        let parameters = Schema::of::<A>().and_then(|schema| schema.require_object_root().map(|()| schema));
        let raw = parameters.as_ref().map_or(Value::Null, |schema| Value::clone(schema.raw()));
        let raw = Deep::new(raw);
        let check = Check::Checked(parameters);
        let definition = ToolDefinition::new(name, description, raw, check, Schema::of_written::<R>(), body);
        Self { definition, types: PhantomData }
    }

    fn map(mut self, change: impl FnOnce(ToolDefinition) -> ToolDefinition) -> Self {
        self.definition = change(self.definition);
        self
    }

    /// See [`ToolDefinition::timeout`].
    pub fn timeout(self, timeout: Duration) -> Self {
        self.map(|definition| definition.timeout(timeout))
    }

    /// See [`ToolDefinition::idempotent`].
    pub fn idempotent(self) -> Self {
        self.map(ToolDefinition::idempotent)
    }

    /// Says that the body may run beside other bodies of the same batch, for all arguments that can be read.
    pub fn parallel(self) -> Self {
        self.parallel_when(|_| true)
    }

    /// Says for which arguments the body may run beside other bodies of the same batch; never for arguments that cannot be
    /// read.
    pub fn parallel_when(self, parallel: impl Fn(&A) -> bool + Send + Sync + 'static) -> Self {
        self.map(|definition| {
            definition.parallel_when(move |arguments| {
                read_arguments::<A>(arguments).is_ok_and(|arguments| parallel(&arguments))
            })
        })
    }

    /// Makes of arguments and value what the model reads; see [`ToolDefinition::render`]. The value is read back from what was
    /// written of it, and so has to be `Deserialize` too.
    pub fn render(self, render: impl Fn(&A, &R) -> Vec<ContentBlock> + Send + Sync + 'static) -> Self
    where
        R: DeserializeOwned,
    {
        self.map(|definition| {
            definition.render(move |arguments, value| Ok(render(&typed(arguments)?, &typed(value)?)))
        })
    }

    /// Makes of arguments and value the text that the model reads; see [`render`](Self::render), also for what the value needs.
    pub fn render_text(self, render: impl Fn(&A, &R) -> String + Send + Sync + 'static) -> Self
    where
        R: DeserializeOwned,
    {
        self.render(move |arguments, value| vec![ContentBlock::text(render(arguments, value))])
    }

    /// Makes of arguments and value facts for a user interface; see [`ToolDefinition::presentation_meta`], and
    /// [`render`](Self::render) for what the value needs.
    pub fn presentation_meta<M: Serialize>(self, meta: impl Fn(&A, &R) -> M + Send + Sync + 'static) -> Self
    where
        R: DeserializeOwned,
    {
        self.map(|definition| {
            definition.presentation_meta(move |arguments, value| {
                Ok(serde_json::to_value(meta(&typed(arguments)?, &typed(value)?))?)
            })
        })
    }

    /// See [`ToolDefinition::finalize`].
    pub fn finalize(
        self,
        finalize: impl Fn(&ToolCall, &ToolOutcome) -> Option<Vec<ContentBlock>> + Send + Sync + 'static,
    ) -> Self {
        self.map(|definition| definition.finalize(finalize))
    }

    /// How a user interface may show a call; no view for arguments that cannot be read.
    pub fn present_call(self, present: impl Fn(&A) -> CallView + Send + Sync + 'static) -> Self {
        self.map(|definition| {
            definition.present_call(move |arguments| Some(present(&read_arguments(arguments).ok()?)))
        })
    }

    /// How a user interface may show a result; no view for arguments that cannot be read.
    pub fn present_result(
        self,
        present: impl Fn(&A, LoggedResult<'_>) -> ResultView + Send + Sync + 'static,
    ) -> Self {
        self.map(|definition| {
            definition.present_result(move |arguments, result| {
                Some(present(&read_arguments(arguments).ok()?, result))
            })
        })
    }
}

fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, BoxError> {
    Ok(read_arguments(value)?)
}

impl<A, R> From<TypedTool<A, R>> for ToolDefinition {
    fn from(tool: TypedTool<A, R>) -> Self {
        tool.definition
    }
}

impl<A, R> fmt::Debug for TypedTool<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypedTool({:?})", self.definition.name)
    }
}
