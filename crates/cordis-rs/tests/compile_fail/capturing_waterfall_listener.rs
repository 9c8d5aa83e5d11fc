//! A listener of a waterfall is given state by `.with(..)`.
use cordis::{Context, Waterfall};

const KEY: Waterfall<u32, u32> = Waterfall::new("key");

fn wrong(ctx: &Context) {
    let state = String::from("state");
    let _ = ctx.on(KEY).run(async move |n, next| next.run(n).await + state.len() as u32);
    //~ give state by `.with(state)`, not by capture
}

fn main() {
    let _ = wrong;
}
