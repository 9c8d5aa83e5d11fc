//! Who lets which agents see and stop their jobs.

use std::convert::Infallible;
use std::sync::Arc;

use cordis::{AnonymousEntries, Context, Effect, Layer, LayerError, Layers};
use dsh_agent::Agent;
use dsh_jobs::AttachError;

/// The controllers of all agents, and those of the agents of one scope.
pub(crate) struct Controllers {
    layers: Layers<ControllerLayer>,
}

#[derive(Default)]
struct ControllerLayer {
    labels: AnonymousEntries<Arc<str>>,
}

impl Layer for ControllerLayer {
    fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

impl Controllers {
    pub(crate) fn new() -> Self {
        Self { layers: Layers::new(|_| ControllerLayer::default(), |_| Ok(())) }
    }

    pub(crate) fn attach(&self, ctx: &Context, label: &str) -> Result<Effect, AttachError> {
        ctx.effects(format!("jobs.attach_controller({label:?})"), |inside| {
            let attached = self.layers.effect_quietly(inside, "entry", |layer| {
                Ok::<_, Infallible>(layer.labels.append(label.into()))
            });
            match attached {
                Ok(_) => Ok(()),
                Err(LayerError::Inactive(inactive)) => Err(inactive.into()),
                Err(refused) => Err(AttachError::Refused { label: label.to_owned(), source: refused.into() }),
            }
        })
    }

    /// Whether somebody lets the owner see and stop its jobs.
    pub(crate) fn serve(&self, owner: Option<&Agent>) -> bool {
        !self.layers.global().is_empty()
            || owner
                .is_some_and(|owner| self.layers.chain(owner.scope()).iter().any(|layer| !layer.is_empty()))
    }
}
