//! The order in which tools are offered to the model.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use dsh_llm::ToolSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Stands in a tool order for all tools that it does not list. No tool can have this name.
pub const UNLISTED_TOOLS: &str = "<unlisted-tools>";

/// A configured order of tools: names, and [`UNLISTED_TOOLS`] once, where all others go, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
#[schemars(with = "Vec<String>")]
pub struct ToolOrder {
    before: Vec<String>,
    after: Vec<String>,
}

/// A list is no order of tools.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidToolOrder {
    /// A name is listed twice.
    #[error("`toolOrder` lists {name:?} more than once: list it where it belongs")]
    Duplicate {
        /// The name; [`UNLISTED_TOOLS`] too.
        name: String,
    },
    /// The unlisted tools have no place.
    #[error("`toolOrder` does not say where the tools go that it does not list: add {UNLISTED_TOOLS:?}")]
    NoRest,
}

impl ToolOrder {
    /// The names that are listed, in their order.
    pub fn listed(&self) -> impl Iterator<Item = &str> {
        self.before.iter().chain(&self.after).map(String::as_str)
    }

    /// The names that are listed and not known.
    pub(crate) fn unknown(&self, known: &HashSet<String>) -> Vec<String> {
        self.listed().filter(|name| !known.contains(*name)).map(str::to_owned).collect()
    }
}

impl TryFrom<Vec<String>> for ToolOrder {
    type Error = InvalidToolOrder;

    fn try_from(mut names: Vec<String>) -> Result<Self, InvalidToolOrder> {
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(InvalidToolOrder::Duplicate { name: name.clone() });
        }
        let rest = names.iter().position(|name| name == UNLISTED_TOOLS).ok_or(InvalidToolOrder::NoRest)?;
        let after = names.split_off(rest + 1);
        names.truncate(rest);
        Ok(Self { before: names, after })
    }
}

impl From<ToolOrder> for Vec<String> {
    fn from(order: ToolOrder) -> Self {
        let ToolOrder { before, after } = order;
        before.into_iter().chain([UNLISTED_TOOLS.to_owned()]).chain(after).collect()
    }
}

/// Sorts tools as the order says, or by name; tools of one name stay as they were.
pub(crate) fn sort(tools: &mut [ToolSchema], order: Option<&ToolOrder>) {
    let rest = order.map_or(0, |order| order.before.len());
    let mut places: HashMap<&str, usize> = HashMap::new();
    if let Some(order) = order {
        places.extend(order.before.iter().enumerate().map(|(place, name)| (name.as_str(), place)));
        places.extend(order.after.iter().enumerate().map(|(place, name)| (name.as_str(), rest + 1 + place)));
    }
    let place = |tool: &ToolSchema| places.get(tool.name.as_str()).copied().unwrap_or(rest);
    tools.sort_by(|one, other| {
        place(one).cmp(&place(other)).then_with(|| by_code_units(&one.name, &other.name))
    });
}

/// Compares UTF-16 code units, as the reference does: other than code points beyond U+FFFF against U+E000 to U+FFFF.
pub(crate) fn by_code_units(one: &str, other: &str) -> Ordering {
    one.encode_utf16().cmp(other.encode_utf16())
}
