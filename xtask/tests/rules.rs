//! The repository's own rules, so that `cargo test --workspace` covers them.

use std::path::Path;

use xtask::examples::Mode;
use xtask::{Workspace, catalog, examples, layers, leaks, links, readme, spec, targets};

fn workspace() -> Workspace {
    match Workspace::find(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        Ok(workspace) => workspace,
        Err(error) => panic!("{error:#}"),
    }
}

/// Fails the test with the rule's own text.
#[track_caller]
fn green<T>(rule: &str, outcome: anyhow::Result<T>) {
    if let Err(error) = outcome {
        panic!("cargo xtask {rule}: {error:#}");
    }
}

#[test]
fn every_dependency_between_crates_points_downward() {
    green("layers", layers::check(&workspace()));
}

#[test]
fn every_library_says_truly_whether_it_has_tests_inside() {
    green("targets", targets::check(&workspace()));
}

#[test]
fn every_cited_behaviour_exists_and_the_strict_chapters_are_fully_covered() {
    green("spec", spec::check(&workspace()).and_then(|coverage| coverage.require(spec::STRICT)));
}

#[test]
fn every_example_prints_what_its_expected_file_says() {
    green("examples", examples::check(&workspace(), Mode::Compare));
}

#[test]
fn the_catalog_lists_the_keys_as_they_are() {
    green("catalog --check", catalog::check(&workspace()));
}

#[test]
fn the_readme_shows_a_command_that_prints_something_and_then_the_tests() {
    green("readme", readme::check(&workspace()));
}

#[test]
fn every_relative_link_resolves() {
    green("links", links::check(&workspace()));
}

#[test]
fn no_file_names_a_folder_of_the_machine_it_was_written_on() {
    green("links", leaks::check(&workspace()));
}
