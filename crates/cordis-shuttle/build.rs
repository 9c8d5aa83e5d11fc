//! Turns on the schedule explorer's side of the host's sources, for this package only.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(cordis_shuttle)");
    // The host's optional parts are not explored: this package has no such features.
    println!("cargo:rustc-check-cfg=cfg(feature, values(\"catalog\", \"log\", \"testing\"))");
    println!("cargo:rustc-cfg=cordis_shuttle");
}
