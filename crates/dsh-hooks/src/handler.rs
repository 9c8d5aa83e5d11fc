//! One hook of a configuration.

use std::time::Duration;

use crate::matcher::Matcher;
use crate::point::Point;

/// One hook of a configuration.
#[derive(Clone, Debug)]
pub struct Handler {
    /// When it runs.
    pub point: Point,
    /// For which tools, sources or agents.
    pub matcher: Matcher,
    /// The command line.
    pub command: String,
    /// How long it may run, if the configuration says.
    pub timeout: Option<Duration>,
}
