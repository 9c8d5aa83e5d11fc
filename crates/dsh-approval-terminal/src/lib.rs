//! Approvals answered at a terminal: one question at a time, shown with everything that would be done.
//!
//! Whoever sits there sees the agent, the tool, the reason and the exact arguments, and answers `y` or `n`. Without a
//! terminal, or at the end of its input, questions are left to other answerers.
//!
//! Read `config`, `text` with `visible` (what is shown), `input` with `tty` (where lines come from), `lines`, `terminal` (who asks and who is
//! waited for) with `shared` (that it is one), then `keyboard` (where one question comes after the other) and `screen`, the
//! two threads.
//!
//! **Architecture Invariant:** a line answers the question that was on the screen before the line was begun, or none. What
//! was typed before a question could be read is thrown away once it can, and a line that was waited for by a question that is over is thrown away too,
//! before the next question is shown.
//!
//! **Architecture Invariant:** one thread of the process reads a terminal. Everything that is mounted on it shares it, so a
//! line meant for one agent's question cannot reach another's.
//!
//! **Architecture Invariant:** what a model wrote cannot act on the terminal. Everything but printable characters, and those
//! that a terminal may reorder, is shown as an escape of JSON.

mod config;
mod input;
mod keyboard;
mod lines;
mod screen;
mod shared;
mod terminal;
mod text;
mod tty;
mod visible;

use cordis::{BoxError, Context, Plugin, define};

pub use config::Config;
pub use input::Input;
pub use terminal::Terminal;
pub use visible::visible;

cordis::catalog!(plugin);

/// Asks at the configured terminal.
///
/// Mounted on an agent's context it asks for that agent alone; mounts on one terminal ask one question after the other. It
/// loads without a terminal as well, and asks nobody then. When it unloads while a line is waited for that no question needs
/// any more, the terminal's next line is lost; a mount that comes before that line asks after it.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("approval-terminal").run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    let path = config.path.clone();
    // Opening may block, as any file may.
    match tokio::task::spawn_blocking(move || Terminal::open(&path)).await? {
        Ok(terminal) => {
            terminal.listen(ctx)?;
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::info!(
                error,
                path = %config.path.display(),
                "there is no terminal to ask at: approvals are left to other answerers"
            );
        }
    }
    Ok(())
}
