//! The innermost step is given state by the third argument.
use cordis::{Context, Waterfall};

const WORK: Waterfall<u32, u32> = Waterfall::new("work");

async fn wrong(ctx: &Context) {
    let state = String::from("state");
    let _ = ctx.waterfall(WORK, &mut 1, &(), async move |_, n| *n + state.len() as u32).await;
    //~ pass state as the third argument, not by capture
}

fn main() {
    let _ = wrong;
}
