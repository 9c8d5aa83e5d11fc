//! What must not compile, and the words that a user meets then.
//!
//! Each file in `compile_fail/` is a program. Its `//~ text` lines are found in the compiler's output for it; nothing else
//! of the output is looked at, because that changes with the compiler. A file that says `//@ compiles` must compile.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use serde_json::Value;
use std::{
    collections::BTreeMap,
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// One program.
struct Case {
    path: PathBuf,
    compiles: bool,
    texts: Vec<String>,
}

fn cases() -> BTreeMap<String, Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let mut cases = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&path).unwrap();
        let compiles = source.lines().any(|line| line == "//@ compiles");
        let texts =
            source.lines().filter_map(|line| Some(line.split_once("//~ ")?.1.trim().to_owned())).collect();
        cases.insert(name, Case { path, compiles, texts });
    }
    cases
}

/// A package outside of the workspace with one program for each case, locked as the workspace is.
fn package(cases: &BTreeMap<String, Case>) -> PathBuf {
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    fs::create_dir_all(&folder).unwrap();
    let mut manifest =
        String::from("[workspace]\n\n[package]\nname = \"cases\"\nversion = \"0.0.0\"\nedition = \"2024\"\n");
    let host = library.join("../cordis-rs");
    write!(manifest, "autobins = false\n\n[dependencies]\ndsh-tools = {{ path = {library:?} }}\n").unwrap();
    write!(manifest, "cordis-rs = {{ path = {host:?} }}\nschemars = \"1\"\nserde_json = \"1\"\n").unwrap();
    manifest.push_str("serde = { version = \"1\", features = [\"derive\"] }\n");
    for (name, case) in cases {
        write!(manifest, "\n[[bin]]\nname = {name:?}\npath = {:?}\n", case.path).unwrap();
    }
    let path = folder.join("Cargo.toml");
    // An unchanged manifest keeps its time, so that nothing is built anew.
    if fs::read_to_string(&path).ok().as_ref() != Some(&manifest) {
        fs::write(&path, manifest).unwrap();
    }
    fs::copy(library.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

/// What the compiler says about each program: whether it has errors, and the text.
fn check(folder: &Path) -> BTreeMap<String, (bool, String)> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["check", "--offline", "--bins", "--keep-going", "--quiet", "--message-format=json"])
        .arg("--target-dir")
        .arg(folder.join("target"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TERM_COLOR", "never")
        .current_dir(folder)
        .output()
        .unwrap();
    let mut said = BTreeMap::<String, (bool, String)>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let (name, diagnostic) = (&message["target"]["name"], &message["message"]);
        let (Some(name), Some(text)) = (name.as_str(), diagnostic["rendered"].as_str()) else { continue };
        let of_name = said.entry(name.to_owned()).or_default();
        of_name.0 |= diagnostic["level"] == "error";
        of_name.1 += text;
    }
    // Cargo itself must have come as far as the cases.
    assert!(!said.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The text without line breaks of the rendering, so that a long line of ours is found as it is written.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

// spec: design/P5
#[test]
fn wrong_use_does_not_compile_and_is_told_the_remedy() {
    let cases = cases();
    let said = check(&package(&cases));
    let mut wrong = String::new();
    for (name, case) in &cases {
        let (failed, text) = said.get(name).cloned().unwrap_or_default();
        if failed == case.compiles {
            writeln!(wrong, "{name}: {}\n{text}", if failed { "does not compile" } else { "compiles" })
                .unwrap();
        }
        if !case.compiles && case.texts.is_empty() {
            writeln!(wrong, "{name}: no `//~` line").unwrap();
        }
        let flat_text = flat(&text);
        for missing in case.texts.iter().filter(|wanted| !flat_text.contains(&flat(wanted))) {
            writeln!(wrong, "{name}: `{missing}` is not in\n{text}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_words_of_every_message_of_ours_are_looked_for() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let all: Vec<String> = cases().into_values().flat_map(|case| case.texts).collect();
    let mut unseen = Vec::new();
    let mut found = 0;
    for entry in fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        let Ok(source) = fs::read_to_string(path) else { continue };
        let messages = source.split("#[diagnostic::on_unimplemented(").skip(1);
        for attribute in messages.filter_map(|rest| rest.split_once(")]")) {
            for line in attribute.0.lines().filter_map(|line| line.trim().split_once(" = \"")) {
                let text = line.1.trim_end_matches(',').trim_end_matches('"');
                found += 1;
                // What stands around the name of the type.
                let missing =
                    |part: &&str| !part.is_empty() && !all.iter().any(|wanted| wanted.contains(*part));
                unseen.extend(text.split("`{Self}`").filter(missing).map(str::to_owned));
            }
        }
    }
    assert_eq!(unseen, [""; 0]);
    assert!(found > 0, "there are messages");
}
