//! A command whose end is waited for.

use std::sync::Arc;

use cordis::Handle;
use dsh_shell::{Shell, ShellError, ShellRequest};
use dsh_subprocess::SpawnError;
use dsh_tools::{ToolError, ToolRun};

use crate::render;
use crate::value::{BashValue, Printed};

/// Runs a command to its end, and tells what it prints while it runs. One that is cancelled, by its caller or by a deadline,
/// fails with what it had printed.
pub(crate) async fn run(
    shell: &Handle<dyn Shell>,
    mut request: ShellRequest,
    run: ToolRun,
) -> Result<BashValue, ToolError> {
    request.cancellation = run.cancellation().clone();
    // What the command leaves behind may print when the call is over, which is nothing to tell.
    let run = Arc::new(run);
    let told = Arc::downgrade(&run);
    request.live = Some(Box::new(move |text| {
        if let Some(run) = told.upgrade() {
            run.write(text);
        }
    }));
    let ending = {
        let shell = shell.get()?;
        shell.run(shell.resolve(request)?)
    };
    let result = ending.await.map_err(|error| match error {
        ShellError::Spawn(SpawnError::Cancelled) => ToolError::aborted(),
        other => other.into(),
    })?;
    if result.aborted {
        // In the place of what was told while it ran, where the streams are mixed.
        let printed = render::streams(&Printed::from(result.stdout), &Printed::from(result.stderr));
        return Err(ToolError::aborted().with_output(printed));
    }
    Ok(result.into())
}
