//! All of the state goes by `.with(..)`.
use cordis::{Context, Waterfall};

const KEY: Waterfall<u32, u32> = Waterfall::new("key");

fn wrong(ctx: &Context) {
    let state = String::from("state");
    let _ = ctx.on(KEY).with(1).run(async move |_, n, next| next.run(n).await + state.len() as u32);
    //~ give state by `.with(state)`, not by capture
}

fn main() {
    let _ = wrong;
}
