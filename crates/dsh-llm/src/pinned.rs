//! A model of one registration of one adapter, as it was at one moment.

use std::fmt;
use std::sync::Arc;

use cordis::{Lent, Refused};

use crate::adapter::{AnyAdapter, AnyModel};
use crate::call::CallConfig;
use crate::code;
use crate::error::LlmError;
use crate::info::ModelInfo;
use crate::request::ModelRequest;
use crate::resolve::Resolved;
use crate::retry::RetryPolicy;
use crate::sink::ChunkSink;

/// An adapter as it is lent by its plugin.
pub(crate) type LentAdapter = Lent<Arc<dyn AnyAdapter>>;

/// A provider's adapter, as one registration has it.
#[derive(Clone)]
pub(crate) struct Route {
    /// Tells adapters apart: the same for all providers of one registration.
    pub(crate) registration: u64,
    pub(crate) lent: LentAdapter,
    pub(crate) retry_policy: RetryPolicy,
}

/// A model with its route and the config that was completed by its defaults.
pub(crate) struct Pinned {
    pub(crate) route: Route,
    pub(crate) info: ModelInfo,
    pub(crate) resolved: Resolved,
    model: Arc<dyn AnyModel>,
}

impl Pinned {
    pub(crate) fn new(route: Route, info: ModelInfo, resolved: Resolved, model: Arc<dyn AnyModel>) -> Self {
        Self { route, info, resolved, model }
    }

    pub(crate) fn config(&self) -> &CallConfig {
        &self.resolved.config
    }

    /// Asks the model, as its plugin's own code.
    pub(crate) async fn stream(&self, request: ModelRequest, out: ChunkSink) -> Result<(), LlmError> {
        let model = self.model.clone();
        let call = self.route.lent.start(move |_| model.stream(request, out)).map_err(refused)?;
        call.await.map_err(refused)?
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("config", self.config()).finish_non_exhaustive()
    }
}

/// What it means that an adapter did not run to its end.
pub(crate) fn refused(refused: Refused) -> LlmError {
    let code = match &refused {
        Refused::Gone { .. } => code::REGISTRATION_DISPOSED,
        Refused::Panicked { .. } | _ => code::UNKNOWN,
    };
    LlmError::new(code, format!("the adapter of {refused}"))
}
