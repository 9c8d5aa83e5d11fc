//! An async listener is an async function.
use cordis::{Context, Parallel};

const ALL: Parallel<u32> = Parallel::new("all");

fn wrong(ctx: &Context) {
    let _ = ctx.on(ALL).run(7);
    //~ this listener's future is not `Send`, or its arguments do not fit the event
    //~ not usable as a listener of this event
    //~ give state by `.with(state)` instead of capturing it: `ctx.on(KEY).with(state).run(async |state, ..| ..)`
    //~ or box the future yourself: `.run_boxed(|..| Box::pin(async move { .. }))`
}

fn main() {
    let _ = wrong;
}
