//! What a hook decides, and the word in which it says so.

use serde::{Deserialize, Serialize};

/// What a hook decides, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// It may go on.
    Allow,
    /// Somebody is to be asked.
    Ask,
    /// It may not.
    Deny,
}

/// The word in which a hook says what it decides; logs keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// [`Decision::Allow`], in the older form.
    Approve,
    /// [`Decision::Allow`].
    Allow,
    /// [`Decision::Ask`].
    Ask,
    /// [`Decision::Deny`], in the older form, and by exit code 2.
    Block,
    /// [`Decision::Deny`].
    Deny,
}

impl Said {
    /// What the word means.
    #[must_use]
    pub fn decision(self) -> Decision {
        match self {
            Self::Approve | Self::Allow => Decision::Allow,
            Self::Ask => Decision::Ask,
            Self::Block | Self::Deny => Decision::Deny,
        }
    }
}
