//! The way of a question through the channel.

use std::sync::Arc;

use cordis::Next;
use dsh_approval::{ApprovalOutcome, ApprovalRequest};

use crate::channel::ApprovalChannel;
use crate::state::{Asked, Reply, Shared};

/// Waits for a program's answer; without a program, or once the last one has gone, asks the other answerers.
pub(crate) async fn answer(
    channel: &Arc<ApprovalChannel>,
    request: &mut ApprovalRequest,
    next: Next<'_, ApprovalRequest, ApprovalOutcome>,
) -> ApprovalOutcome {
    let Some(asked) = channel.shared().ask(request) else { return next.run(request).await };
    let reply = Asking { shared: channel.shared().clone(), asked }.reply().await;
    match reply {
        Reply::Decided(decision) => decision.into(),
        Reply::Delegated => next.run(request).await,
    }
}

/// An open question on the side of its asker; dropped, it is withdrawn.
struct Asking {
    shared: Arc<Shared>,
    asked: Asked,
}

impl Asking {
    async fn reply(mut self) -> Reply {
        (&mut self.asked.reply).await.unwrap_or(Reply::Delegated)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.shared.withdraw(self.asked.number);
    }
}
