//! A listener of `serial` is given state by `.with(..)`.
use cordis::{Context, Serial};

const KEY: Serial<u32, u32> = Serial::new("key");

fn wrong(ctx: &Context) {
    let state = String::from("state");
    let _ = ctx.on(KEY).run(async move |n| Ok(Some(state.len() as u32 + n)));
    //~ give state by `.with(state)`, not by capture
}

fn main() {
    let _ = wrong;
}
