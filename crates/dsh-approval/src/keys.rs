//! The names under which the crate meets others: the service and the event that answerers listen to.

use cordis::{Key, Waterfall};

use crate::approvals::Approvals;
use crate::outcome::ApprovalOutcome;
use crate::request::ApprovalRequest;

/// Where actions ask for approval. Without it whatever needs approval is denied.
pub const APPROVAL: Key<Approvals> = Key::new("approval");

/// A question wants an answer.
///
/// Dispatched by [`Approvals::request`] after the question was logged, unless it is cancelled already or the policy is
/// `never`; scope-filtered by the agent that asks. The first listener that returns without `next` decides; `next` asks
/// the others and ends in `unavailable`. Nothing a listener changes in the request is logged. A panic makes the outcome
/// `unavailable`. Cancellation drops the listeners at their current await and makes the outcome `cancelled`, whatever they
/// would have answered; so a listener keeps nothing across an await that its drop does not put in order. The end of the turn drops nobody, but an
/// answer that comes after it is `cancelled` too.
///
/// Source: event `approval/request`.
pub const REQUEST: Waterfall<ApprovalRequest, ApprovalOutcome> =
    Waterfall::new("approval/request").scoped_by(|request| Some(request.agent.scope()));
