//! Which inherited tools a scope sees.

use std::collections::BTreeSet;

/// Which of the tools that a scope inherits it sees; its own tools are never restricted.
///
/// With `allow`, only the names in it; with `deny`, none of the names in it; with both, what passes both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    allow: Option<Vec<String>>,
    deny: Option<Vec<String>>,
}

impl Restriction {
    /// Only these names pass, also of tools that are registered later.
    #[must_use]
    pub fn allow<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { allow: Some(names.into_iter().map(Into::into).collect()), deny: None }
    }

    /// These names do not pass; tools of other names that are registered later do.
    #[must_use]
    pub fn deny<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { allow: None, deny: Some(names.into_iter().map(Into::into).collect()) }
    }

    /// And these names do not pass either.
    #[must_use]
    pub fn and_deny<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.deny.get_or_insert_default().extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether it says nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.allow.is_none() && self.deny.is_none()
    }

    /// The names in it, in the order in which they were given, each once.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.allow.iter().chain(&self.deny).flatten().map(String::as_str);
        names.filter(|name| seen.insert(*name)).collect()
    }

    pub(crate) fn admits(&self, name: &str) -> bool {
        let among = |names: &Vec<String>| names.iter().any(|other| other == name);
        self.allow.as_ref().is_none_or(among) && !self.deny.as_ref().is_some_and(among)
    }
}
