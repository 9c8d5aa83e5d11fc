//! What talks to the models of a provider.

use std::sync::Arc;

use cordis::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::error::LlmError;
use crate::info::{ModelEntry, ModelInfo, ProviderInfo};
use crate::request::ModelRequest;
use crate::retry::RetryPolicy;
use crate::sink::ChunkSink;

/// Talks to the models of one or more providers; registered by [`Llm::register`](crate::Llm::register).
///
/// It runs as its plugin's own code: when the plugin unloads, what runs of it ends at its current await. That is dropped by
/// whoever reads the answer; the unloading waits for a reader that is elsewhere, within the limit of any teardown.
pub trait Adapter: Send + Sync + 'static {
    /// One model, with everything that a call of it needs.
    type Model: Model;

    /// What there is to know of a provider, asked once when it is registered for it; the id is the provider's own.
    fn provider(&self, provider: &str) -> ProviderInfo;

    /// How failed calls of a provider are tried again, asked once when it is registered.
    fn retry_policy(&self, provider: &str) -> RetryPolicy {
        let _ = provider;
        RetryPolicy::default()
    }

    /// The models of a provider to choose from.
    ///
    /// # Errors
    /// They cannot be told right now.
    fn models(&self, provider: &str) -> impl Future<Output = Result<Vec<ModelEntry>, LlmError>> + Send;

    /// One model, listed or not. What it gives is a snapshot: endpoint, key and facts of one moment, which a later change
    /// of settings does not touch.
    ///
    /// # Errors
    /// The model cannot be asked.
    ///
    /// # Cancel safety
    /// Dropped at its current await when the caller cancels; `cancellation` is for work outside of this future.
    fn model(
        &self,
        provider: &str,
        model: &str,
        cancellation: &CancellationToken,
    ) -> impl Future<Output = Result<Self::Model, LlmError>> + Send;
}

/// One model, ready to be asked.
pub trait Model: Send + Sync + 'static {
    /// What is known of it.
    fn info(&self) -> ModelInfo;

    /// Asks it once, and sends the answer's pieces as they come, up to the finish. Nothing is tried again here.
    ///
    /// The request has every default filled in and holds nothing that the model cannot be told.
    ///
    /// # Errors
    /// The call failed: the error becomes the finish of the answer. After a finish was sent it is raised instead.
    ///
    /// # Cancel safety
    /// Dropped at its current await when the caller cancels or stops reading.
    fn stream(
        &self,
        request: &ModelRequest,
        out: &mut ChunkSink,
    ) -> impl Future<Output = Result<(), LlmError>> + Send;
}

/// An adapter of any type.
pub(crate) trait AnyAdapter: Send + Sync {
    fn provider(&self, provider: &str) -> ProviderInfo;
    fn retry_policy(&self, provider: &str) -> RetryPolicy;
    fn models(self: Arc<Self>, provider: String) -> BoxFuture<'static, Result<Vec<ModelEntry>, LlmError>>;
    fn model(
        self: Arc<Self>,
        provider: String,
        model: String,
        cancellation: CancellationToken,
    ) -> BoxFuture<'static, Result<Arc<dyn AnyModel>, LlmError>>;
}

impl<A: Adapter> AnyAdapter for A {
    fn provider(&self, provider: &str) -> ProviderInfo {
        Adapter::provider(self, provider)
    }

    fn retry_policy(&self, provider: &str) -> RetryPolicy {
        Adapter::retry_policy(self, provider)
    }

    fn models(self: Arc<Self>, provider: String) -> BoxFuture<'static, Result<Vec<ModelEntry>, LlmError>> {
        Box::pin(async move { Adapter::models(&*self, &provider).await })
    }

    fn model(
        self: Arc<Self>,
        provider: String,
        model: String,
        cancellation: CancellationToken,
    ) -> BoxFuture<'static, Result<Arc<dyn AnyModel>, LlmError>> {
        Box::pin(async move {
            let model = Adapter::model(&*self, &provider, &model, &cancellation).await?;
            Ok(Arc::new(model) as Arc<dyn AnyModel>)
        })
    }
}

/// A model of any type.
pub(crate) trait AnyModel: Send + Sync {
    fn info(&self) -> ModelInfo;
    fn stream(
        self: Arc<Self>,
        request: ModelRequest,
        out: ChunkSink,
    ) -> BoxFuture<'static, Result<(), LlmError>>;
}

impl<M: Model> AnyModel for M {
    fn info(&self) -> ModelInfo {
        Model::info(self)
    }

    fn stream(
        self: Arc<Self>,
        request: ModelRequest,
        mut out: ChunkSink,
    ) -> BoxFuture<'static, Result<(), LlmError>> {
        Box::pin(async move { Model::stream(&*self, &request, &mut out).await })
    }
}
