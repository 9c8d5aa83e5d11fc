//! The rules that the pieces of an answer keep, and a plugin that fails the answer of a model that breaks one.
//!
//! An adapter that is right needs no checker, and whoever puts pieces together forgives a lot. Mounted next to an adapter or a
//! listener that is being written, the plugin ends the stream at the first piece that is out of place, with an error that says
//! what is wrong with it.
//!
//! Read `rule` (what there is to break), then `grammar` (what may follow what).

mod grammar;
mod rule;
#[cfg(feature = "testing")]
pub mod testing;

use std::sync::Arc;

use cordis::{BoxError, Context, Next, Plugin, define};
use dsh_llm::{ModelCall, Outcome, STREAM};

pub use grammar::Grammar;
pub use rule::Violation;

cordis::catalog!(plugin);

/// Checks the answers of all models.
///
/// It looks at what the outermost of the listeners gave that were there when it was mounted; those that come later and
/// [prepend](cordis::On::prepend) themselves are not looked at. Pieces pass unchanged up to the first that breaks a rule, which does
/// not; the stream ends with the [`Violation`]. What a listener below raises passes too, and is no missing finish.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("llm-invariants").run(async |ctx: &Context, (): (), _config: &()| start(ctx, Arc::new(|_| {})))
}

/// Who is told of violations besides the reader.
type Tell = Arc<dyn Fn(&Violation) + Send + Sync>;

fn start(ctx: &Context, tell: Tell) -> Result<(), BoxError> {
    ctx.on(STREAM).prepend().with(tell).run(judge)?;
    Ok(())
}

async fn judge(tell: &Tell, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>) -> Outcome {
    let mut out = call.out.clone();
    let mut below = call.below(next);
    let mut grammar = Grammar::default();
    let broken = |violation: Violation| {
        tell(&violation);
        Err(BoxError::from(violation))
    };
    while let Some(chunk) = below.next().await {
        if let Err(violation) = grammar.next(&chunk) {
            return broken(violation);
        }
        out.send(chunk).await;
    }
    below.outcome()?;
    grammar.end().or_else(broken)
}
