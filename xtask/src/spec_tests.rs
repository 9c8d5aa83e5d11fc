use crate::fixture::Fixture;

use super::*;

const FIDELITY: &str = "# Fidelity\n\n| id | kind | what we do | why |\n|---|---|---|---|\n\
                        | `scope/S2` | not applicable | nothing | no classes |\n";

fn fixture(test_source: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture
        .package("crates/cordis-rs", "host", "")
        .write(
            "docs/spec/cordis-core.md",
            "# Core\n\nC1. One.\n    C9. indented\nC2. Two\nC3b. Three.\nC4.5 no\n",
        )
        .write("docs/spec/scope.md", "S1. One.\nS2.\n")
        .write("docs/fidelity.md", FIDELITY)
        .write("crates/cordis-rs/tests/core.rs", test_source);
    fixture
}

fn red(test_source: &str) -> String {
    check(&fixture(test_source).load()).unwrap_err().to_string()
}

#[test]
fn tests_and_the_fidelity_page_cover_behaviours() {
    let source = "// spec: cordis-core/C1, C3b, scope/S1\n#[test]\nfn a() {}\n";
    let coverage = check(&fixture(source).load()).unwrap();
    assert_eq!(coverage.summary(true), "cordis-core 2/3\n  C2\nscope 2/2\n");
    assert!(coverage.require(&["scope"]).is_ok());
    let error = coverage.require(&["cordis-core", "tools"]).unwrap_err().to_string();
    assert!(error.contains("cordis-core: 1 behaviours are not covered: C2"), "{error}");
    assert!(error.contains("docs/spec/tools.md is missing"), "{error}");
}

#[test]
fn cites_are_found_among_comments_and_attributes_and_in_macros() {
    let source = r#"
        /// What it shows.
        // spec: cordis-core/C1
        // More.
        #[tokio::test(start_paused = true)]
        // spec: cordis-core/C2
        #[should_panic]
        pub async fn a() {}

        proptest! {
            // spec: cordis-core/C3b
            #[test]
            fn b(x in 0..3) {}
        }
        mod inner {
            // spec: scope/S1
            #[shuttle::test] fn c() {}
        }
    "#;
    assert_eq!(check(&fixture(source).load()).unwrap().summary(false), "cordis-core 3/3\nscope 2/2\n");
}

#[test]
fn an_unknown_id_is_rejected_with_its_place() {
    let error = red("// spec: cordis-core/C1, C99\n#[test]\nfn a() {}\n");
    assert!(error.contains("crates/cordis-rs/tests/core.rs:1: `cordis-core/C99` does not exist"), "{error}");
    let error = red("// spec: nowhere/C1\n#[test]\nfn a() {}\n");
    assert!(error.contains("there is no docs/spec/nowhere.md, only cordis-core, scope"), "{error}");
}

#[test]
fn an_unknown_id_on_the_fidelity_page_is_rejected_with_its_place() {
    let fixture = fixture("");
    fixture.write("docs/fidelity.md", &FIDELITY.replace("S2", "S77"));
    let error = check(&fixture.load()).unwrap_err().to_string();
    assert!(error.contains("docs/fidelity.md:5: `scope/S77` does not exist"), "{error}");
}

#[test]
fn a_malformed_cite_is_rejected() {
    assert!(red("// spec: C1\n#[test]\nfn a() {}\n").contains("`C1` names no chapter"));
    assert!(red("// spec: scope/S1-S3\n#[test]\nfn a() {}\n").contains("`scope/S1-S3` is not an id"));
    assert!(red("// spec: scope/S1 and more\n#[test]\nfn a() {}\n").contains("is not an id"));
    assert!(red("// spec: scope/S1,\n#[test]\nfn a() {}\n").contains("is not an id"));
}

#[test]
fn a_cite_that_belongs_to_no_running_test_is_rejected() {
    let misplaced = [
        "// spec: scope/S1\nfn helper() {}\n",
        "// spec: scope/S1\n#[inline]\nfn helper() {}\n\n#[test]\nfn a() {}\n",
        "// spec: scope/S1\n\n#[test]\nfn a() {}\n",
        "#[test]\nfn a() {\n    // spec: scope/S1\n    let x = 1;\n}\n",
        "// spec: scope/S1\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n}\n",
        "// spec: scope/S1\n#[test]\n#[ignore]\nfn a() {}\n",
        "// spec: scope/S1\n",
    ];
    for source in misplaced {
        let error = red(source);
        assert!(error.contains("this cite covers nothing"), "{source}\n{error}");
    }
}

#[test]
fn a_cite_inside_a_string_is_not_one() {
    let source = "#[test]\nfn a() {\n    let _ = \"\n    // spec: scope/S99\n    \";\n}\n";
    assert_eq!(check(&fixture(source).load()).unwrap().summary(false), "cordis-core 0/3\nscope 1/2\n");
}

#[test]
fn a_cite_in_an_excluded_folder_does_not_count() {
    let fixture = fixture("");
    let source = "// spec: scope/S1\n#[test]\nfn a() {}\n";
    fixture.write("xtask/peers/other/src/lib.rs", source);
    assert!(check(&fixture.load()).unwrap().summary(false).ends_with("scope 1/2\n"));
    fixture.write("xtask/src/lib.rs", source);
    assert!(check(&fixture.load()).unwrap().summary(false).ends_with("scope 2/2\n"));
}

#[test]
fn cases_and_design_need_only_look_right_until_there_is_such_a_chapter() {
    let source = "// spec: cases/D3, design/P1\n#[test]\nfn a() {}\n";
    let fixture = fixture(source);
    assert!(check(&fixture.load()).is_ok());
    assert!(red("// spec: cases/DD3\n#[test]\nfn a() {}\n").contains("`cases/DD3` does not exist"));

    fixture.write("docs/spec/cases.md", "# Cases\n\n- D1 x\n- D3 y\n");
    assert!(check(&fixture.load()).unwrap().summary(false).starts_with("cases 1/2\n"));
    fixture.write("docs/spec/cases.md", "# Cases\n\n- D1 x\n");
    let error = check(&fixture.load()).unwrap_err().to_string();
    assert!(error.contains("docs/spec/cases.md has no `D3`"), "{error}");
}

#[test]
fn missing_inputs_are_named() {
    let fixture = Fixture::new();
    let error = check(&fixture.load()).unwrap_err().to_string();
    assert!(error.contains("docs/spec holds no numbered behaviours"), "{error}");
    fixture.write("docs/spec/scope.md", "S1. One.\n");
    let error = check(&fixture.load()).unwrap_err().to_string();
    assert!(error.contains("cannot read docs/fidelity.md: create it"), "{error}");
    fixture.write("docs/spec/scope.md", "S1. One.\nS1. Again.\n");
    let error = check(&fixture.load()).unwrap_err().to_string();
    assert!(error.contains("docs/spec/scope.md numbers `S1` twice"), "{error}");
}
