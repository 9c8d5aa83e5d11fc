//! What was not declared does not arrive.
use cordis::{BoxError, Context, Handle, Key, define};

const DECLARED: Key<u32> = Key::new("declared");

async fn apply(
    _: &Context,
    (declared, undeclared): (Handle<u32>, Handle<String>),
    _: &(),
) -> Result<(), BoxError> {
    let _ = (declared, undeclared);
    Ok(())
}

fn wrong(ctx: &Context) {
    let _ = ctx.plugin(define("plugin").needs(DECLARED).run(apply), ());
    //~ type mismatch in function arguments
    //~ expected function signature `fn(&cordis::Context, Handle<u32>, &_) -> _`
    //~ found function signature `fn(&cordis::Context, (Handle<u32>, Handle<String>), &()) -> _`
}

fn main() {
    let _ = wrong;
}
