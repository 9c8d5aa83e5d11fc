//! The name under which the crate meets programs.

use cordis::Key;

use crate::channel::ApprovalChannel;

/// Where programs are given the questions that wait, and answer them.
pub const CHANNEL: Key<ApprovalChannel> = Key::new("approvalChannel");
