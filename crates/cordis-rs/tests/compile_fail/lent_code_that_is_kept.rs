//! Lent code is there for the length of a call: nothing of it can be taken out, or borrowed by the future of a call.
use cordis::Lent;

fn taken_out(lent: &Lent<String>) -> Option<&'static str> {
    lent.call(|code| code.as_str()).ok() //~ lifetime may not live long enough
}

fn borrowed(lent: &Lent<String>) {
    let _ = lent.start(|code| Box::pin(async move { code.len() })); //~ returning this value requires that `'1` must outlive `'static`
}

fn main() {
    let _ = (taken_out, borrowed);
}
