//! What plugins lend to assemblies: it runs as their own code, and their unloading waits for it.

use std::sync::Arc;

use cordis::{BoxError, Context, Inactive, Lent, Refused};

use crate::assemble::AssembleError;
use crate::context::AssembleContext;
use crate::contribution::Contribution;
use crate::prompt::ToolContribution;
use crate::text::{MakeText, Part, Text};

pub(crate) type VariableFn = dyn Fn(&AssembleContext) -> Option<String> + Send + Sync;
pub(crate) type ToolsFn = dyn Fn(&AssembleContext) -> Result<ToolContribution, BoxError> + Send + Sync;

/// A provider that a plugin lends.
pub(crate) struct LentProvider<F: ?Sized + Send + Sync + 'static>(Lent<Box<F>>);

impl<F: ?Sized + Send + Sync + 'static> LentProvider<F> {
    pub(crate) fn lend(ctx: &Context, label: String, provider: Box<F>) -> Result<Self, Inactive> {
        let (_, lent) = ctx.lend(label, provider)?;
        Ok(Self(lent))
    }

    /// The plugin, as `name#uid`.
    pub(crate) fn owner(&self) -> String {
        self.0.owner()
    }

    /// Asks the provider; nothing if its plugin has taken it back since the assembly began.
    pub(crate) fn ask<R>(
        &self,
        what: impl FnOnce() -> Contribution,
        call: impl FnOnce(&F) -> Result<R, BoxError>,
    ) -> Result<Option<R>, AssembleError> {
        asked(self.0.call(|provider| call(provider)), what, || self.owner())
    }
}

/// A part of prompts with the plugin that registered it, as `name#uid`. Only a text that is made is lent.
pub(crate) struct LentPart {
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) order: f64,
    pub(crate) complete: bool,
    text: LentText,
}

enum LentText {
    Fixed(Arc<str>),
    Made(Lent<Arc<MakeText>>),
}

impl LentPart {
    pub(crate) fn lend(ctx: &Context, label: String, part: Part) -> Result<Self, Inactive> {
        let Part { name, order, text, complete } = part;
        let text = match text.into_text() {
            Text::Fixed(text) => LentText::Fixed(text),
            Text::Made(make) => LentText::Made(ctx.lend(label, make)?.1),
        };
        Ok(Self { owner: ctx.fiber().label(), name, order, complete, text })
    }

    /// Its text; nothing if its plugin has taken it back since the assembly began.
    pub(crate) fn text(
        &self,
        context: &AssembleContext,
        what: impl FnOnce() -> Contribution,
    ) -> Result<Option<String>, AssembleError> {
        match &self.text {
            LentText::Fixed(text) => Ok(Some((**text).to_owned())),
            LentText::Made(make) => asked(make.call(|make| make(context)), what, || self.owner.clone()),
        }
    }
}

/// A failure names what failed and its plugin.
fn asked<R>(
    called: Result<Result<R, BoxError>, Refused>,
    what: impl FnOnce() -> Contribution,
    plugin: impl FnOnce() -> String,
) -> Result<Option<R>, AssembleError> {
    let source = match called {
        Ok(Ok(given)) => return Ok(Some(given)),
        Ok(Err(source)) => source,
        Err(Refused::Panicked { reason, .. }) => format!("panicked: {reason}").into(),
        Err(_) => return Ok(None),
    };
    Err(AssembleError::Provider { what: what(), plugin: plugin(), source })
}
