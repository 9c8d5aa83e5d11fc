//! What runs programs: the service `codeRuntime`, what it is asked for and what it gives.

use std::fmt;

use cordis::{BoxError, BoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::code_mode::namespace::{BindingError, Namespace};

/// Runs programs of one language. There is one in a context.
///
/// Source: service `codeRuntime`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not run programs",
    label = "does not implement `dsh_tools::CodeRuntime`"
)]
pub trait CodeRuntime: Send + Sync + 'static {
    /// The language of the programs, in lower case: `typescript` and `python` can be presented to models.
    fn language(&self) -> &str;

    /// What keeps a program from its host, such as `worker-thread`.
    fn isolation(&self) -> &str;

    /// Runs a program to its end: its body is that of an async function, and its result what it returns.
    ///
    /// Whatever the program does is an outcome. A run whose token is cancelled ends soon after, as a failure of kind
    /// [`Abort`](CodeFailureKind::Abort). Calls of bindings that are still on their way when the program ends are dropped or
    /// answered to nobody. The future borrows nothing of the runtime, which therefore can be unloaded meanwhile: it then
    /// ends the run.
    ///
    /// # Errors
    /// The runtime was misused or cannot run anything any more.
    fn run(&self, request: CodeRequest) -> BoxFuture<'static, Result<CodeOutcome, BoxError>>;
}

/// A program that is to be run.
#[derive(Debug)]
pub struct CodeRequest {
    program: String,
    namespaces: Vec<Namespace>,
    cancellation: CancellationToken,
}

impl CodeRequest {
    /// A program without bindings, that this token ends.
    #[must_use]
    pub fn new(program: impl Into<String>, cancellation: &CancellationToken) -> Self {
        Self { program: program.into(), namespaces: Vec::new(), cancellation: cancellation.clone() }
    }

    /// Gives the program a namespace of functions.
    ///
    /// # Errors
    /// A global of this name, or the name of its error class, is there already.
    pub fn with(mut self, namespace: Namespace) -> Result<Self, BindingError> {
        let injected = || self.namespaces.iter().flat_map(Namespace::injected);
        let global = namespace.global();
        if self.namespaces.iter().any(|other| other.global() == global) {
            return Err(BindingError::DuplicateGlobal { name: global.to_owned() });
        }
        if let Some(name) = namespace.injected().find(|name| injected().any(|other| other == *name)) {
            return Err(BindingError::DuplicateInjected { name: name.to_owned() });
        }
        self.namespaces.push(namespace);
        Ok(self)
    }

    /// The program's text.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// What the program can call. No two bring the same global.
    #[must_use]
    pub fn namespaces(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// Cancelled when the result is not wanted any more.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeOutcome {
    /// What it printed, in order; also of a program that failed.
    pub logs: Vec<String>,
    /// What it returned, if it returned anything, as lossless JSON; or why there is no result.
    pub ended: Result<Option<Value>, CodeFailure>,
}

impl CodeOutcome {
    /// It came to its end and returned this.
    #[must_use]
    pub fn completed(logs: Vec<String>, value: Option<Value>) -> Self {
        Self { logs, ended: Ok(value) }
    }

    /// It did not come to its end.
    #[must_use]
    pub fn failed(logs: Vec<String>, kind: CodeFailureKind, message: impl Into<String>) -> Self {
        Self { logs, ended: Err(CodeFailure { kind, message: message.into() }) }
    }
}

/// Why a program has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFailure {
    /// What happened.
    pub kind: CodeFailureKind,
    /// More of it, for the model.
    pub message: String,
}

/// What kept a program from giving a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeFailureKind {
    /// It failed by itself, or is no program.
    Exception,
    /// It took too long.
    Timeout,
    /// It was cancelled.
    Abort,
    /// What ran it is gone.
    WorkerExit,
    /// It returned what is no lossless JSON.
    InvalidOutput,
    /// It printed and returned too much.
    OutputLimit,
}

impl fmt::Display for CodeFailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exception => "exception",
            Self::Timeout => "timeout",
            Self::Abort => "abort",
            Self::WorkerExit => "worker-exit",
            Self::InvalidOutput => "invalid-output",
            Self::OutputLimit => "output-limit",
        })
    }
}
