//! A listener of another payload.
use cordis::{Context, Emit};

const TOLD: Emit<u32> = Emit::new("told");

fn wrong(ctx: &Context) {
    let _ = ctx.on(TOLD).run(|text: &String| println!("{text}"));
    //~ expected closure signature `for<'a> fn(&'a u32) -> _`
    //~ found closure signature `fn(&String) -> _`
}

fn main() {
    let _ = wrong;
}
