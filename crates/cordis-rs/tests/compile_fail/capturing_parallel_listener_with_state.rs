//! All of the state goes by `.with(..)`.
use cordis::{Context, Parallel};

const KEY: Parallel<u32> = Parallel::new("key");

fn wrong(ctx: &Context) {
    let state = String::from("state");
    let _ = ctx.on(KEY).with(1).run(async move |_, _| if state.is_empty() { Err("empty".into()) } else { Ok(()) });
    //~ give state by `.with(state)`, not by capture
}

fn main() {
    let _ = wrong;
}
