//! An `Emit` key has no innermost step.
use cordis::{Context, Emit};

const TOLD: Emit<u32> = Emit::new("told");

async fn wrong(ctx: &Context) {
    let _ = ctx.waterfall(TOLD, &mut 1, &(), async |_, n| *n).await; //~ expected `Waterfall<_, _>`, found `Emit<u32>`
}

fn main() {
    let _ = wrong;
}
