//! A set-up leaves nothing or an async disposer.
use cordis::Context;

async fn wrong(ctx: &Context) {
    let _ = ctx.effect_with("effect", async |_| Ok(7)).await;
    //~ cannot undo an effect
    //~ neither `()` nor an async disposer
    //~ end the set-up with `Ok(())` or with `Ok(async move || { .. })`
}

fn main() {
    let _ = wrong;
}
