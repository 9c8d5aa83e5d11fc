//! One run of a tool's body.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use cordis::{Effect, Inactive};
use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::call::ToolCall;
use crate::guard::panic_text;
use crate::outcome::ToolOutcome;
use crate::registry::Entry;
use crate::tool::ToolError;

/// Runs the body as a task of the plugin that offers the tool: when the plugin is unloaded, its bodies end with it.
///
/// When the call is cancelled the body has `grace` to end; then it is dropped at its next await.
///
/// # Errors
/// The plugin is being unloaded.
///
/// # Cancel safety
/// Dropping the future drops the body.
pub(crate) async fn run(
    entry: Arc<Entry>,
    call: &ToolCall,
    grace: Duration,
) -> Result<ToolOutcome, Inactive> {
    let (tool, own) = (Arc::clone(&entry.tool), call.share());
    let (send, result) = oneshot::channel();
    let body = async move {
        let ended = AssertUnwindSafe(tool.run(&own)).catch_unwind().await;
        let _ = send.send(ended);
    };
    let label = format!("tool {} ({})", call.name(), call.id());
    let _running = Running(entry.owner.spawn(label, body)?);
    // From here on only the task holds the tool, so that it is gone when its plugin is.
    drop(entry);
    let ended = tokio::select! {
        biased;
        ended = result => ended,
        () = async {
            call.cancellation().cancelled().await;
            tokio::time::sleep(grace).await;
        } => return Ok(ToolOutcome::aborted()),
    };
    Ok(match ended {
        Ok(Ok(Ok(content))) if !call.is_cancelled() => ToolOutcome::success(content),
        Ok(Ok(Ok(_))) => ToolOutcome::aborted(),
        Ok(Ok(Err(error))) => error.into_outcome(),
        Ok(Err(panic)) => {
            let reason = panic_text(&*panic);
            ToolError::new(format!("tool \"{}\" panicked: {reason}", call.name())).into_outcome()
        }
        // The plugin was unloaded while the body ran.
        Err(_) => ToolOutcome::aborted(),
    })
}

/// Ends the body when nobody waits for it any more.
struct Running(Effect);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
