use crate::fixture::Fixture;

use super::*;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .package("crates/cordis-rs", "host", "")
        .package(
            "crates/dsh-session",
            "definition",
            "[dependencies]\ncordis-rs = { path = \"../cordis-rs\" }\n",
        )
        .package("crates/dsh-tools", "definition", "[dependencies]\ndsh-session = { workspace = true }\n")
        .package("crates/dsh-tool-bash", "policy", "[dependencies]\ndsh-tools = {}\n")
        .package("crates/dsh-session-jsonl", "provider", "[dependencies]\ndsh-session = {}\n")
        .package("crates/dsh-testkit", "dev", "[dependencies]\ndsh-tool-bash = {}\n");
    fixture
}

fn red(fixture: &Fixture) -> String {
    check(&fixture.load()).unwrap_err().to_string()
}

#[test]
fn downward_edges_are_accepted_and_counted() {
    assert_eq!(check(&fixture().load()).unwrap(), "layers: 8 crates, 5 dependencies, all downward");
}

#[test]
fn a_definition_that_depends_on_a_later_one_is_rejected() {
    let fixture = fixture();
    fixture.package("crates/dsh-session", "definition", "[dependencies]\ndsh-tools = {}\n");
    assert!(red(&fixture).contains("`dsh-session` (Definition) must not depend on `dsh-tools` (Definition)"));
}

#[test]
fn the_host_depends_on_nothing_of_ours_even_in_its_tests() {
    let fixture = fixture();
    fixture.package("crates/cordis-rs", "host", "[dev-dependencies]\ndsh-testkit = {}\n");
    assert!(red(&fixture).contains("`cordis-rs` (Host) must not dev-depend on `dsh-testkit` (Dev)"));
}

#[test]
fn providers_and_policies_do_not_depend_on_one_another() {
    let fixture = fixture();
    fixture
        .package("crates/dsh-shell-local", "provider", "[dependencies]\ndsh-session-jsonl = {}\n")
        .package("crates/dsh-hooks", "policy", "[build-dependencies]\ndsh-tool-bash = {}\n");
    let error = red(&fixture);
    assert!(
        error.contains("`dsh-shell-local` (Provider) must not depend on `dsh-session-jsonl` (Provider)"),
        "{error}"
    );
    assert!(error.contains("`dsh-hooks` (Policy) must not depend on `dsh-tool-bash` (Policy)"), "{error}");
}

#[test]
fn tests_of_every_layer_but_the_host_may_mount_checkers() {
    let fixture = fixture();
    fixture
        .package("crates/dsh-tools-invariants", "policy", "[dependencies]\ndsh-tools = {}\n")
        .package("crates/dsh-tools", "definition", "[dev-dependencies]\ndsh-tools-invariants = {}\n")
        .package("crates/dsh-tool-bash", "policy", "[dev-dependencies]\ndsh-tools-invariants = {}\n");
    check(&fixture.load()).unwrap();
    fixture.package("crates/dsh-tools", "definition", "[dependencies]\ndsh-tools-invariants = {}\n");
    let error = red(&fixture);
    assert!(
        error.contains("`dsh-tools` (Definition) must not depend on `dsh-tools-invariants` (Policy)"),
        "{error}"
    );
    fixture.package("crates/cordis-rs", "host", "[dev-dependencies]\ndsh-tools-invariants = {}\n");
    assert!(red(&fixture).contains("`cordis-rs` (Host) must not dev-depend on `dsh-tools-invariants`"));
}

#[test]
fn tests_may_use_the_testkit_and_lower_layers_but_not_peers() {
    let fixture = fixture();
    let dev = "[dev-dependencies]\ndsh-testkit = {}\ndsh-session-jsonl = {}\n";
    fixture.package("crates/dsh-tool-fs", "policy", dev);
    assert!(check(&fixture.load()).is_ok());
    fixture.package("crates/dsh-tool-fs", "policy", "[dev-dependencies]\ndsh-tool-bash = {}\n");
    assert!(red(&fixture).contains("`dsh-tool-fs` (Policy) must not dev-depend on `dsh-tool-bash` (Policy)"));
}

#[test]
fn an_edge_hidden_by_a_rename_or_a_target_is_found() {
    let fixture = fixture();
    let hidden = "[target.'cfg(unix)'.dependencies]\nbash = { package = \"dsh-tool-bash\", path = \"\" }\n";
    fixture.package("crates/dsh-session", "definition", hidden);
    assert!(red(&fixture).contains("`dsh-session` (Definition) must not depend on `dsh-tool-bash` (Policy)"));
}

#[test]
fn a_crate_without_a_layer_or_with_an_invented_one_is_rejected() {
    let fixture = fixture();
    fixture.write("crates/dsh-bare/Cargo.toml", "[package]\nname = \"dsh-bare\"\npublish = false\n").package(
        "crates/dsh-odd",
        "helper",
        "",
    );
    let error = red(&fixture);
    assert!(error.contains("crates/dsh-bare/Cargo.toml declares no layer"), "{error}");
    assert!(error.contains("there is no layer `helper`"), "{error}");
}

#[test]
fn a_definition_that_the_order_does_not_list_is_rejected() {
    let fixture = fixture();
    fixture.package("crates/dsh-surprise", "definition", "").package("crates/dsh-llm", "policy", "");
    let error = red(&fixture);
    assert!(
        error.contains("`dsh-surprise` is a definition that the order of definitions does not list"),
        "{error}"
    );
    assert!(error.contains("`dsh-llm` is listed as a definition but declares layer Policy"), "{error}");
}

#[test]
fn a_misnamed_folder_and_a_publishable_crate_are_rejected() {
    let fixture = fixture();
    let manifest = "[package]\nname = \"dsh-hooks\"\n[package.metadata.dsh]\nlayer = \"policy\"\n";
    fixture.write("crates/hooks/Cargo.toml", manifest);
    let error = red(&fixture);
    assert!(error.contains("`dsh-hooks` lives in `crates/hooks`"), "{error}");
    assert!(error.contains("`dsh-hooks` can be published"), "{error}");
}

#[test]
fn the_host_does_not_say_dsh() {
    let fixture = fixture();
    fixture.write("crates/cordis-rs/src/lib.rs", "//! A host.\n// Made for DSH.\nmod dshx;\n");
    let error = red(&fixture);
    assert!(error.contains("crates/cordis-rs/src/lib.rs:2 says `dsh`"), "{error}");
    assert!(!error.contains("lib.rs:3"), "{error}");
}

#[test]
fn crates_are_ordered_by_layer_then_by_the_list_then_by_name() {
    let workspace = fixture().load();
    let names: Vec<_> = in_order(&workspace).unwrap().iter().map(|package| package.name.as_str()).collect();
    let expected = [
        "cordis-rs",
        "dsh-session",
        "dsh-tools",
        "dsh-session-jsonl",
        "dsh-tool-bash",
        "examples",
        "dsh-testkit",
        "xtask",
    ];
    assert_eq!(names, expected);
}
