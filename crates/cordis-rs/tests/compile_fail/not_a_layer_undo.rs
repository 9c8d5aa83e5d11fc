//! A change of a layer says how it is taken back.
use cordis::{Context, Layer, Layers};
use std::convert::Infallible;

struct Tables;

impl Layer for Tables {
    fn is_empty(&self) -> bool {
        true
    }
}

fn wrong(layers: &Layers<Tables>, ctx: &Context) {
    let _ = layers.effect(ctx, "label", |_| Ok::<u32, Infallible>(1));
    //~ `u32` cannot take a layer's change back
    //~ neither an `EntryUndo` nor a closure
    //~ return what the table's `insert` or `append` gave, or `move || { .. }`
}

fn main() {
    let _ = wrong;
}
