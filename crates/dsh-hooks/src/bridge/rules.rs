//! What dialects do differently.

use std::collections::BTreeMap;

use crate::bridge::moment::Moment;
use crate::bridge::place::Place;
use crate::dialect::Dialect;
use crate::point::Point;

/// What one dialect does in its own way.
pub trait DialectRules: Send + Sync + 'static {
    /// Whose hooks they are.
    fn dialect(&self) -> Dialect;

    /// The plugin's name: the source of its messages, and the beginning of its warnings.
    fn plugin(&self) -> &'static str;

    /// What a hook reads: one JSON object.
    ///
    /// # Errors
    /// It cannot be written; then the hook is not run.
    fn payload(&self, firing: &Firing<'_>) -> serde_json::Result<String>;

    /// Variables of a hook's environment.
    fn env(&self, place: &Place) -> BTreeMap<String, String>;

    /// Whether a hook can have somebody asked about a call.
    fn can_ask(&self) -> bool;

    /// Whether a hook can have a call made with other arguments.
    fn can_rewrite(&self) -> bool;

    /// Whether what a hook of this point prints, if it is no JSON object, is told to the model.
    fn tells_plain_text(&self, point: Point) -> bool;
}

/// What a hook is told: what happens, and where.
#[derive(Clone, Copy, Debug)]
pub struct Firing<'a> {
    /// Where.
    pub place: &'a Place,
    /// The turn; 0 if there is none.
    pub turn: u64,
    /// What.
    pub moment: Moment<'a>,
}
