//! The name under which the crate meets others: the service.

use cordis::Key;

use crate::default_model::DefaultModel;

/// Which model agents ask unless they are told otherwise.
///
/// Source: service `agentDefaultModel`.
pub const DEFAULT_MODEL: Key<DefaultModel> = Key::new("agentDefaultModel");
