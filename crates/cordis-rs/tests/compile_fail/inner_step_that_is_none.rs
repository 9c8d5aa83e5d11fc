//! The innermost step is an async function of the state and the arguments.
use cordis::{Context, Waterfall};

const WORK: Waterfall<u32, u32> = Waterfall::new("work");

async fn wrong(ctx: &Context) {
    let _ = ctx.waterfall(WORK, &mut 1, &(), 7).await;
    //~ the innermost step of a waterfall is an `async Fn(&S, &mut A) -> R` whose future is `Send`
    //~ not usable as the innermost step
    //~ pass the state as the third argument instead of capturing it: `ctx.waterfall(KEY, &mut args, self, Self::body)`
}

fn main() {
    let _ = wrong;
}
