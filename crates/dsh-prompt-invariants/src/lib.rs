//! The rules that an assembled prompt keeps, and a plugin that fails the assembly of one that breaks them.
//!
//! Registration keeps these rules by itself. Listeners of an assembly may make of it what they like; mounted next to one
//! that is being written, the plugin turns a malformed prompt into an error that says what is wrong with it.

mod violation;

use cordis::{BoxError, Context, Next, Plugin, define};
use dsh_prompt::{ASSEMBLE, Assembling, PromptAssembly};

pub use violation::{Violation, check};

cordis::catalog!(plugin);

/// Checks the prompts of every agent, or those of the agent whose context the plugin is mounted on.
///
/// It looks at what the outermost of the listeners gave that were there when it was mounted; those that come later and
/// [prepend](cordis::On::prepend) themselves are not looked at. The source of the assembly's error is a [`Violation`].
pub fn plugin() -> impl Plugin<Config = ()> {
    define("system-prompt-invariants").run(apply)
}

async fn apply(ctx: &Context, (): (), _config: &()) -> Result<(), BoxError> {
    ctx.on(ASSEMBLE).prepend().run(judge)?;
    Ok(())
}

type Assembled = Result<PromptAssembly, BoxError>;

async fn judge(assembling: &mut Assembling, next: Next<'_, Assembling, Assembled>) -> Assembled {
    let assembly = next.run(assembling).await?;
    check(&assembly)?;
    Ok(assembly)
}
