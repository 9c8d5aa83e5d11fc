//! Needs are keys.
use cordis::define;

fn main() {
    let _ = define("plugin").needs(("tools", 1));
    //~ `&str` cannot be declared as the needs of a plugin
    //~ not a service key
    //~ needs are `KEY`, `KEY.optional()`, `()`, or a tuple of up to eight of them, where `KEY: cordis::Key<T>`
}
