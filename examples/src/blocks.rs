//! The programs that the pages of docs/guide and docs/cookbook show, and what they say that these print.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A block of Rust on a page, and the block of text right behind it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The line of its opening fence, from 1.
    pub(crate) line: usize,
    /// What it is made of.
    pub(crate) code: String,
    /// What it prints, as the page has it.
    pub(crate) printed: Option<String>,
}

/// The pages below the repository's root, in their order. The list of a folder, its README.md, is none.
///
/// # Errors
/// A folder cannot be read.
pub(crate) fn pages(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for folder in ["docs/guide", "docs/cookbook"] {
        let mut here = Vec::new();
        for entry in fs::read_dir(root.join(folder))? {
            here.push(entry?.path());
        }
        here.retain(|path| path.extension().is_some_and(|it| it == "md") && !path.ends_with("README.md"));
        here.sort();
        pages.append(&mut here);
    }
    Ok(pages)
}

/// The programs of a page. What must not compile is none; it is tried with the documentation.
#[must_use]
pub(crate) fn programs(page: &str) -> Vec<Program> {
    let mut programs: Vec<Program> = Vec::new();
    let mut lines = page.lines().enumerate();
    let mut behind = false;
    while let Some((index, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            behind &= line.is_empty();
            continue;
        };
        let block: Vec<_> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let text = block.join("\n") + "\n";
        match (info, programs.last_mut()) {
            ("rust", _) => programs.push(Program { line: index + 1, code: text, printed: None }),
            ("text", Some(program)) if behind => program.printed = Some(text),
            _ => {}
        }
        behind = info == "rust";
    }
    programs
}
