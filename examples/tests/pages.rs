//! What the pages of docs/guide and docs/cookbook show is what their programs print.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

#[path = "../src/blocks.rs"]
mod blocks;

use std::fs;
use std::path::Path;
use std::process::Command;

use blocks::{Program, pages, programs};

/// Whether the program at a line of a page ended well, and what it wrote to stdout and stderr.
fn run(page: &str, line: usize) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_page")).arg(page).arg(line.to_string()).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.success(), out, err)
}

#[test]
fn each_page_shows_what_its_programs_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for path in pages(&root).unwrap() {
        let page = path.strip_prefix(&root).unwrap().display().to_string();
        let programs = programs(&fs::read_to_string(&path).unwrap());
        assert!(!programs.is_empty(), "{page} has no program");
        for Program { line, printed, .. } in programs {
            let (ended_well, out, err) = run(&page, line);
            if !ended_well {
                wrong.push(format!("{page}:{line} ended with an error:\n{out}{err}"));
            } else if out != printed.as_deref().unwrap_or_default() {
                wrong.push(format!("{page}:{line} prints this, and its page says something else:\n{out}"));
            }
        }
    }
    let remedy = "put what `cargo run -p examples --bin page PAGE LINE` prints into the block behind it";
    assert!(wrong.is_empty(), "{}\n{remedy}", wrong.join("\n"));
}

#[test]
fn each_page_is_compiled_with_the_documentation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let library = fs::read_to_string(root.join("examples/src/lib.rs")).unwrap();
    for path in pages(&root).unwrap() {
        let page = path.strip_prefix(&root).unwrap().display().to_string();
        assert!(library.contains(&format!("{page:?}")), "examples/src/lib.rs leaves out {page}");
    }
}

#[test]
fn only_the_text_right_behind_a_program_is_what_it_prints() {
    let page = "```rust\nfn main() {}\n```\n\n```text\nout\n```\n\n```text\nnot\n```\n```rust\nfn main() {}\n```\nand\n```text\nno\n```\n\
                ```rust,compile_fail\nfn\n```\n";
    let program = |line, printed: Option<&str>| Program {
        line,
        code: "fn main() {}\n".into(),
        printed: printed.map(str::to_owned),
    };
    assert_eq!(programs(page), [program(1, Some("out\n")), program(12, None)]);
}
