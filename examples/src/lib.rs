//! The examples are in `examples/`, one file each; what they print is in `expected/`. The library itself holds only the
//! code of README.md, so that `cargo test` compiles and runs it.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
