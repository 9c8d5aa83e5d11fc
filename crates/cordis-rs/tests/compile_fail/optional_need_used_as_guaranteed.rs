//! An optional need may be absent.
use cordis::{BoxError, Context, Handle, Key, define};

const MAYBE: Key<u32> = Key::new("maybe");

async fn apply(_: &Context, maybe: Handle<u32>, _: &()) -> Result<(), BoxError> {
    let _ = maybe;
    Ok(())
}

fn wrong(ctx: &Context) {
    let _ = ctx.plugin(define("plugin").needs(MAYBE.optional()).run(apply), ());
    //~ type mismatch in function arguments
    //~ expected function signature `fn(&cordis::Context, Option<Handle<_>>, &_) -> _`
    //~ required by a bound in `Define::<N>::run`
}

fn main() {
    let _ = wrong;
}
