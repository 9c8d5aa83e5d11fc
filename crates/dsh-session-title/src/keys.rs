//! The name under which the crate meets others.

use cordis::Key;

use crate::titles::SessionTitles;

/// The titles of live sessions: given by the user, or made anew.
///
/// To read one takes no service: [`title_of`](crate::title_of) reads the log.
pub const TITLES: Key<SessionTitles> = Key::new("sessionTitle");
