//! A function is made a plugin by `define`.
use cordis::{BoxError, Context};

async fn apply(_: &Context, _: (), _: &()) -> Result<(), BoxError> {
    Ok(())
}

fn wrong(ctx: &Context) {
    let _ = ctx.plugin(apply, ());
    //~ is not a plugin
    //~ cannot be mounted
    //~ write `define("name").needs(KEYS).run(apply)` with `async fn apply(ctx: &Context, needs: .., config: &Config) -> Result<(), BoxError>`
}

fn main() {
    let _ = wrong;
}
