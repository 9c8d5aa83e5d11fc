//! The request of a step: made of the log, written into the log as far as it is not there, and asked.
//!
//! **Invariants**
//! 1. What a model is asked with is in the log before it is asked: messages as events, the rest in the header.
//! 2. A request is not changed after its header is in the log.

use std::sync::Arc;

use dsh_agent::{AgentRequest, REQUEST, Requested};
use dsh_llm::{
    AdapterDefaults, CallConfig, Message, ModelRequest, ModelStream, PreparedCall, RetryPolicy, code,
};
use dsh_session::{EpochHeader, HeaderReason, RequestContext, RequestHeader};
use thiserror::Error;

use crate::fail::Fail;
use crate::step::Instructions;
use crate::turns::Run;

/// A model that was asked.
pub(crate) struct Asked {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) retry_policy: Option<RetryPolicy>,
    pub(crate) stream: ModelStream,
}

/// Nobody says which model is to be asked.
#[derive(Debug, Error)]
#[error("agent `{agent}` has no {missing}: give it one in its options, or by a listener of `agent/request`")]
struct NoModel {
    agent: String,
    missing: &'static str,
}

impl Run {
    /// Asks the model.
    pub(crate) async fn ask(&self, instructions: &Instructions) -> Result<Asked, Fail> {
        // What is put in from here on is for the next request.
        let messages: Arc<[Arc<Message>]> = self.session().messages().iter().cloned().collect();
        let proposed = self.proposed().await?;
        self.go_on()?;
        let cancellation = self.activity.cancellation();
        let llm = self.parts.llm.get()?.clone();
        let prepared = match self.asked(llm.prepare(proposed.clone(), &cancellation)).await? {
            Ok(prepared) => Some(prepared),
            // A listener of `llm/stream` may serve it.
            Err(error) if error.code() == code::NO_ADAPTER => None,
            Err(error) => return Err(error.into()),
        };
        self.go_on()?;
        let config = prepared.as_ref().map_or(proposed, |prepared| prepared.config().clone());
        let defaults = prepared.as_ref().map(PreparedCall::adapter_defaults);
        self.log_header(&config, defaults, instructions)?;
        let context_window = prepared.as_ref().and_then(|prepared| prepared.info().context_window);
        self.log_context(&config, context_window)?;
        let retry_policy = prepared.as_ref().map(|prepared| prepared.retry_policy().clone());
        let (provider, model) = (config.provider.clone(), config.model.clone());
        let mut request = ModelRequest::new(config, messages).built_by_loop();
        request.system.clone_from(&instructions.system);
        request.tools = Arc::clone(&instructions.tools);
        request.session_id = Some(self.session().id().to_owned());
        request.cancellation = cancellation;
        let stream = match prepared {
            Some(prepared) => prepared.stream(request)?,
            None => llm.stream(request),
        };
        Ok(Asked { provider, model, retry_policy, stream })
    }

    /// The settings that the model is to be asked with.
    async fn proposed(&self) -> Result<CallConfig, Fail> {
        let seed = self.seed();
        let mut request = AgentRequest {
            agent: self.agent().clone(),
            turn: self.turn,
            step: self.step,
            cancellation: self.activity.cancellation(),
        };
        let config =
            self.asked(self.parts.ctx.waterfall(REQUEST, &mut request, &seed, as_proposed)).await??;
        let config = config.map_err(Fail::boxed)?;
        let missing = match (config.provider.is_empty(), config.model.is_empty()) {
            (true, _) => "provider",
            (_, true) => "model",
            _ => return Ok(config),
        };
        Err(NoModel { agent: self.agent().id().to_string(), missing }.into())
    }

    /// The settings before anybody is asked: those of the request before without what its adapter chose, at first those of the
    /// agent.
    fn seed(&self) -> CallConfig {
        let logged = self.session().request_header();
        let chosen = |header: &EpochHeader| header.adapter_defaults.unwrap_or_default();
        let is_set = |marker: Option<bool>| marker == Some(true);
        if let Some(header) = logged.as_ref().filter(|_| self.memory.lock().has_asked) {
            let mut config = header.config.clone();
            let AdapterDefaults { reasoning_effort, max_tokens } = chosen(header);
            config.reasoning_effort = config.reasoning_effort.filter(|_| !is_set(reasoning_effort));
            config.max_tokens = config.max_tokens.filter(|_| !is_set(max_tokens));
            return config;
        }
        let options = self.agent().options();
        let given = |text: &Option<String>| text.clone().unwrap_or_default();
        let mut config = CallConfig::new(given(&options.provider), given(&options.model));
        let same = logged.filter(|header| {
            (&header.config.provider, &header.config.model) == (&config.provider, &config.model)
        });
        config.reasoning_effort = same
            .filter(|header| !is_set(chosen(header).reasoning_effort))
            .and_then(|header| header.config.reasoning_effort.clone());
        config.max_tokens = options.max_tokens.map(dsh_agent::MaxTokens::get);
        config
    }

    /// Logs with what the model is asked, unless the log says the same already.
    fn log_header(
        &self,
        config: &CallConfig,
        defaults: Option<AdapterDefaults>,
        instructions: &Instructions,
    ) -> Result<(), Fail> {
        let header = EpochHeader {
            config: config.clone(),
            adapter_defaults: defaults,
            system: instructions.system.as_deref().map(str::to_owned),
            tools: Some(instructions.tools.to_vec()),
        };
        let header = header.canonical();
        let logged = self.session().request_header();
        let reason = match (self.memory.lock().has_asked, &logged) {
            (false, None) => HeaderReason::Initial,
            (false, Some(_)) => HeaderReason::Resume,
            (true, Some(logged)) if **logged == header => return Ok(()),
            (true, _) => HeaderReason::Change,
        };
        self.log(&RequestHeader { header, reason })?;
        self.memory.lock().has_asked = true;
        Ok(())
    }

    /// Logs which model is asked, unless the log says the same already.
    fn log_context(&self, config: &CallConfig, context_window: Option<u64>) -> Result<(), Fail> {
        let context =
            RequestContext { provider: config.provider.clone(), model: config.model.clone(), context_window };
        if self.session().request_context().is_some_and(|logged| *logged == context) {
            return Ok(());
        }
        self.log(&context)
    }
}

async fn as_proposed(seed: &CallConfig, _: &mut AgentRequest) -> Requested {
    Ok(seed.clone())
}
