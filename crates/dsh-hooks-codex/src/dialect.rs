//! What is Codex's own way.

use std::collections::BTreeMap;

use dsh_hooks::bridge::{DialectRules, Firing, Grammar, Place};
use dsh_hooks::{Dialect, Point};

use crate::NAME;
use crate::config::Config;
use crate::payload::Payload;

/// The points that it has.
const POINTS: [Point; 5] =
    [Point::SessionStart, Point::UserPromptSubmit, Point::PreToolUse, Point::PostToolUse, Point::Stop];

/// What its configuration looks like.
pub(crate) fn grammar() -> Grammar {
    Grammar {
        dialect: Dialect::Codex,
        points: &POINTS,
        timeout_keys: &["timeout", "timeoutSec"],
        has_async: true,
        variables: Vec::new(),
    }
}

pub(crate) struct Codex {
    model: String,
}

impl Codex {
    pub(crate) fn new(config: &Config) -> Self {
        Self { model: config.model.clone() }
    }
}

impl DialectRules for Codex {
    fn dialect(&self) -> Dialect {
        Dialect::Codex
    }

    fn plugin(&self) -> &'static str {
        NAME
    }

    fn payload(&self, firing: &Firing<'_>) -> serde_json::Result<String> {
        let Some(payload) = Payload::of(firing, &self.model) else {
            return Err(serde::ser::Error::custom("there is no such hook in Codex"));
        };
        serde_json::to_string(&payload)
    }

    fn env(&self, _place: &Place) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn can_ask(&self) -> bool {
        false
    }

    fn can_rewrite(&self) -> bool {
        false
    }

    fn tells_plain_text(&self, point: Point) -> bool {
        matches!(point, Point::SessionStart | Point::UserPromptSubmit)
    }
}
