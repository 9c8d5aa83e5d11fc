//! A payload of another type.
use cordis::{Context, Emit};

const TOLD: Emit<u32> = Emit::new("told");

fn wrong(ctx: &Context) {
    ctx.emit(TOLD, &"text"); //~ expected `&u32`, found `&&str`
}

fn main() {
    let _ = wrong;
}
