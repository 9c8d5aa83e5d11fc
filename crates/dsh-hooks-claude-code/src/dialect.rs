//! What is Claude Code's own way.

use std::collections::BTreeMap;

use dsh_hooks::bridge::{DialectRules, Firing, Grammar, Place};
use dsh_hooks::{Dialect, Point};

use crate::NAME;
use crate::config::Config;
use crate::payload::Payload;

/// The variables with the folders of the configuration.
const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";
const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";

/// What its configuration looks like.
pub(crate) fn grammar(config: &Config) -> Grammar {
    let folders = [(PLUGIN_ROOT, &config.plugin_root), (PROJECT_DIR, &config.project_dir)];
    Grammar {
        dialect: Dialect::ClaudeCode,
        points: &Point::ALL,
        timeout_keys: &["timeout"],
        has_async: false,
        variables: folders.iter().filter(|(_, folder)| folder.is_some()).map(|(name, _)| *name).collect(),
    }
}

pub(crate) struct ClaudeCode {
    plugin_root: Option<String>,
    project_dir: Option<String>,
}

impl ClaudeCode {
    pub(crate) fn new(config: &Config) -> Self {
        Self { plugin_root: config.plugin_root.clone(), project_dir: config.project_dir.clone() }
    }
}

impl DialectRules for ClaudeCode {
    fn dialect(&self) -> Dialect {
        Dialect::ClaudeCode
    }

    fn plugin(&self) -> &'static str {
        NAME
    }

    fn payload(&self, firing: &Firing<'_>) -> serde_json::Result<String> {
        serde_json::to_string(&Payload::of(firing))
    }

    fn env(&self, place: &Place) -> BTreeMap<String, String> {
        let project_dir = self.project_dir.as_ref().or(place.session_cwd.as_ref());
        let folders = [(PLUGIN_ROOT, self.plugin_root.as_ref()), (PROJECT_DIR, project_dir)];
        folders.into_iter().filter_map(|(name, folder)| Some((name.to_owned(), folder?.clone()))).collect()
    }

    fn can_ask(&self) -> bool {
        true
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn tells_plain_text(&self, _point: Point) -> bool {
        false
    }
}
