//! The code of a tool, whatever its types: what its plugin lends to the pipeline.

use std::sync::Arc;

use cordis::{BoxError, BoxFuture};
use dsh_llm::ContentBlock;
use serde_json::Value;

use crate::call::ToolCall;
use crate::error::ToolError;
use crate::outcome::ToolOutcome;
use crate::run::ToolRun;
use crate::views::{CallView, LoggedResult, ResultView};

pub(crate) type Render = dyn Fn(&Value, &Value) -> Result<Vec<ContentBlock>, BoxError> + Send + Sync;
pub(crate) type Meta = dyn Fn(&Value, &Value) -> Result<Value, BoxError> + Send + Sync;
pub(crate) type Parallel = dyn Fn(&Value) -> bool + Send + Sync;
pub(crate) type Finalize = dyn Fn(&ToolCall, &ToolOutcome) -> Option<Vec<ContentBlock>> + Send + Sync;
pub(crate) type PresentCall = dyn Fn(&Value) -> Option<CallView> + Send + Sync;
pub(crate) type PresentResult = dyn Fn(&Value, LoggedResult<'_>) -> Option<ResultView> + Send + Sync;

pub(crate) type AsyncBody =
    dyn Fn(Arc<Value>, ToolRun) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;
pub(crate) type BlockingBody = dyn Fn(Arc<Value>, ToolRun) -> Result<Value, ToolError> + Send + Sync;

/// The body, which gives the canonical value.
pub(crate) enum Body {
    /// Polled where the call is executed.
    Async(Box<AsyncBody>),
    /// Run on a thread of its own.
    Blocking(Box<BlockingBody>),
}

/// All code of one tool.
pub(crate) struct ToolCode {
    pub(crate) body: Body,
    pub(crate) render: Option<Box<Render>>,
    pub(crate) meta: Option<Box<Meta>>,
    pub(crate) parallel: Option<Box<Parallel>>,
    pub(crate) finalize: Option<Box<Finalize>>,
    pub(crate) present_call: Option<Box<PresentCall>>,
    pub(crate) present_result: Option<Box<PresentResult>>,
}

impl ToolCode {
    pub(crate) fn new(body: Body) -> Self {
        Self {
            body,
            render: None,
            meta: None,
            parallel: None,
            finalize: None,
            present_call: None,
            present_result: None,
        }
    }
}
