//! A layer says when it is empty.
use cordis::Layers;

struct Tables;

fn main() {
    let _ = Layers::new(|_| Tables, |_| Ok(()));
    //~ `Tables` cannot be a layer of `cordis::Layers`
    //~ does not implement `cordis::Layer`
    //~ implement `Layer` and say when all of its tables are empty
}
