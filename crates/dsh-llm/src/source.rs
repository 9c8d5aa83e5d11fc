//! Who a message comes from.

use serde::{Deserialize, Serialize};

use crate::open_enum;

/// The longest summary of a notice, in UTF-16 units.
const MAX_SUMMARY: usize = 120;

open_enum! {
    /// Who a message comes from.
    pub enum Source by by_kind("kind") {
        /// The user typed it.
        User = "user" {}
        /// A plugin put it in.
        Plugin = "plugin" {
            /// The plugin's name.
            plugin: String,
            /// What kind of text it is; absent for none in particular.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::open::present")]
            form: Option<PluginForm>,
            /// The named parts of a `snapshot`.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::open::present")]
            sections: Option<Vec<Section>>,
            /// The line that stands for a `notice`; see [`Source::notice`].
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::open::present")]
            summary: Option<String>,
        }
        /// A model answered.
        Model = "model" {
            /// The provider's name.
            provider: String,
            /// The model's id.
            model: String,
            /// What the provider wants to see again in the next request; nobody else looks into it.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::open::present")]
            replay_state: Option<serde_json::Value>,
        }
        /// A tool call came to it.
        Tool = "tool" {
            /// The call's id.
            call_id: String,
        }
    }
}

/// What kind of text a plugin puts in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PluginForm {
    /// What to do, for the whole session.
    Instructions,
    /// What there is to choose from.
    Catalog,
    /// How things are right now.
    Snapshot,
    /// That something happened.
    Notice,
    /// What somebody else said.
    Relay,
    /// What was remembered.
    Recall,
    /// A form that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// A named part of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// A notice of a plugin. A summary of more than 120 UTF-16 units is cut and ends in an ellipsis.
    pub fn notice(plugin: impl Into<String>, summary: &str) -> Self {
        let summary =
            if summary.encode_utf16().count() > MAX_SUMMARY { cut(summary) } else { summary.to_owned() };
        Self::Plugin {
            plugin: plugin.into(),
            form: Some(PluginForm::Notice),
            sections: None,
            summary: Some(summary),
        }
    }
}

/// The first units that fit beside an ellipsis; a character is never cut in two.
fn cut(summary: &str) -> String {
    let mut units = 0;
    let whole = summary.chars().take_while(|character| {
        units += character.len_utf16();
        units < MAX_SUMMARY
    });
    whole.chain(['…']).collect()
}
