//! What is registered to be told: sections of the system prompt, and contexts that the conversation is told when they change.

use std::fmt;
use std::sync::Arc;

use cordis::BoxError;

use crate::context::AssembleContext;

/// A template: fixed, or made anew for every assembly.
#[derive(Clone)]
pub struct PromptText(Text);

#[derive(Clone)]
pub(crate) enum Text {
    Fixed(Arc<str>),
    Made(Arc<MakeText>),
}

pub(crate) type MakeText = dyn Fn(&AssembleContext) -> Result<String, BoxError> + Send + Sync;

impl PromptText {
    /// Made for every assembly. A panic fails the assembly.
    pub fn dynamic(make: impl Fn(&AssembleContext) -> String + Send + Sync + 'static) -> Self {
        Self::fallible(move |context| Ok(make(context)))
    }

    /// Made for every assembly, which an error fails.
    pub fn fallible(
        make: impl Fn(&AssembleContext) -> Result<String, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self(Text::Made(Arc::new(make)))
    }

    pub(crate) fn into_text(self) -> Text {
        self.0
    }
}

impl From<&str> for PromptText {
    fn from(text: &str) -> Self {
        Self(Text::Fixed(text.into()))
    }
}

impl From<String> for PromptText {
    fn from(text: String) -> Self {
        Self(Text::Fixed(text.into()))
    }
}

impl fmt::Debug for PromptText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Text::Fixed(text) => f.debug_tuple("PromptText").field(text).finish(),
            Text::Made(_) => f.write_str("PromptText(..)"),
        }
    }
}

/// A named template with its place among others.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) order: f64,
    pub(crate) text: PromptText,
    /// Whether it is to be the only one.
    pub(crate) complete: bool,
}

/// A part of the system prompt.
///
/// By convention the order is below 0 for what comes before the persona, 0 for the persona itself, and 100 to 199 for
/// guidance about tools.
#[derive(Clone, Debug)]
pub struct PromptSection(pub(crate) Part);

impl PromptSection {
    /// A section. Lower orders come first, equal ones in the order of registration; an order must be finite. `{{name}}`
    /// in the text stands for a variable.
    pub fn new(name: impl Into<String>, order: impl Into<f64>, text: impl Into<PromptText>) -> Self {
        Self(Part { name: name.into(), order: order.into(), text: text.into(), complete: false })
    }

    /// Makes it the whole system prompt: where it is seen it is the only section, and listeners cannot change that.
    #[must_use]
    pub fn complete(self) -> Self {
        Self(Part { complete: true, ..self.0 })
    }
}

/// A part of the runtime context. It never is in the system prompt: the conversation is told of it when it has changed.
#[derive(Clone, Debug)]
pub struct PromptContext(pub(crate) Part);

impl PromptContext {
    /// A context; see [`PromptSection::new`].
    pub fn new(name: impl Into<String>, order: impl Into<f64>, text: impl Into<PromptText>) -> Self {
        Self(Part { name: name.into(), order: order.into(), text: text.into(), complete: false })
    }
}
