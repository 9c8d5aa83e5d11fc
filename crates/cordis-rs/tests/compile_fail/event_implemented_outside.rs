//! The six modes are all there are.
use cordis::{Event, Mode};

#[derive(Clone, Copy)]
struct Mine;

impl Event for Mine {
    //~ the trait bound `Mine: cordis::event::sealed::Event` is not satisfied
    fn name(&self) -> &'static str {
        "mine"
    }

    fn mode(&self) -> Mode {
        Mode::Emit
    }
}

fn main() {}
