//! A lease is short: it borrows its handle.
use cordis::{Handle, Lease};

fn wrong(handle: Handle<u32>) -> Lease<'static, u32> {
    handle.get().unwrap() //~ cannot return value referencing function parameter `handle`
}

fn main() {
    let _ = wrong;
}
