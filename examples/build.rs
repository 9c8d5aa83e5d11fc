//! Makes a module of each program in docs/guide and docs/cookbook, so that a test can compare what it prints with the page.

#[path = "src/blocks.rs"]
mod blocks;

use std::path::Path;
use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
    println!("cargo::rerun-if-changed=src/blocks.rs");
    for folder in ["docs/guide", "docs/cookbook"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
    }
    let (mut modules, mut table) = (String::new(), String::new());
    for page in blocks::pages(&root)? {
        let path = page.strip_prefix(&root)?.display().to_string();
        for program in blocks::programs(&fs::read_to_string(&page)?) {
            let (line, code) = (program.line, program.code);
            let module = path.replace(|c: char| !c.is_ascii_alphanumeric(), "_") + &format!("_{line}");
            modules +=
                &format!("mod {module} {{\n{code}\npub(super) fn run() -> super::Outcome {{ main() }}\n}}\n");
            table += &format!("    ({path:?}, {line}, {module}::run),\n");
        }
    }
    let programs = format!("{modules}const PROGRAMS: &[Program] = &[\n{table}];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("pages.rs"), programs)?;
    Ok(())
}
