//! Links: what README.md and `docs` point at with a relative link exists in the repository.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::markdown::{self, Place};
use crate::problems::Problems;
use crate::workspace::{Workspace, files_below};

/// Checks every relative link; returns a one-line summary.
///
/// # Errors
/// When README.md is missing or a link is broken; the message names each as `file:line`.
pub fn check(workspace: &Workspace) -> Result<String> {
    let root = workspace.root();
    let readme = root.join("README.md");
    ensure!(readme.is_file(), "README.md is missing: write it, its links and commands are checked");
    let mut problems = Problems::default();
    let mut count = 0;
    for path in std::iter::once(readme).chain(files_below(&root.join("docs"), ".md")?) {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for (line, target) in targets(&text) {
            count += 1;
            if let Err(reason) = resolve(root, &path, &target) {
                problems.push(format!("{}:{line}: `{target}` {reason}", workspace.show(&path)));
            }
        }
    }
    problems.finish("mend each link, or remove it")?;
    Ok(format!("links: {count} relative links resolve"))
}

/// The relative targets of a document with their line numbers; anchors and addresses are left out.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for line in markdown::lines(text).filter(|line| line.place == Place::Prose) {
        let plain = markdown::without_code_spans(line.text);
        let mut rest = plain.as_str();
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            found.push((line.number, target(closed(rest)).to_owned()));
        }
        if let Some((label, definition)) = plain.trim_start().split_once("]: ")
            && label.starts_with('[')
        {
            found.push((line.number, target(definition).to_owned()));
        }
    }
    found.retain(|(_, target)| !target.is_empty() && !target.starts_with('#') && !has_scheme(target));
    found
}

/// The text up to the parenthesis that closes a link.
fn closed(text: &str) -> &str {
    let mut depth = 0;
    for (index, char) in text.char_indices() {
        match char {
            '(' => depth += 1,
            ')' if depth == 0 => return &text[..index],
            ')' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// A link's target without its brackets and title.
fn target(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((target, _)) => target,
        None => text.split_whitespace().next().unwrap_or_default(),
    }
}

fn has_scheme(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    scheme
        .is_some_and(|scheme| scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+.-".contains(char)))
}

fn resolve(root: &Path, document: &Path, target: &str) -> Result<(), &'static str> {
    let path = target.split(['#', '?']).next().unwrap_or_default().replace("%20", " ");
    if path.starts_with('/') {
        return Err("is absolute: write it relative to the document");
    }
    let mut place = document.parent().unwrap_or(root).to_path_buf();
    for component in PathBuf::from(path).components() {
        match component {
            // Step by step, so that a file outside that happens to exist does not make the link good.
            Component::ParentDir if place == root => return Err("leaves the repository"),
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => place.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if place.exists() { Ok(()) } else { Err("does not exist") }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    use super::*;

    fn red(page: &str) -> String {
        let fixture = Fixture::new();
        fixture.write("README.md", "# R\n").write("docs/guide/page.md", page);
        check(&fixture.load()).unwrap_err().to_string()
    }

    #[test]
    fn a_broken_link_is_rejected_with_its_place() {
        assert!(red("# P\n\nsee [a](gone.md)\n").contains("docs/guide/page.md:3: `gone.md` does not exist"));
        assert!(red("![a](<gone file.png> \"title\")\n").contains("`gone file.png` does not exist"));
        assert!(red("[a]: gone.md\n").contains(":1: `gone.md` does not exist"));
    }

    #[test]
    fn a_link_out_of_the_repository_is_rejected() {
        assert!(red("[a](../../../etc)\n").contains("leaves the repository"));
        assert!(red("[a](/etc)\n").contains("is absolute"));
    }

    #[test]
    fn good_links_code_and_addresses_pass() {
        let fixture = Fixture::new();
        let page = "[a](page.md#part) [b](../../README.md) [`c`](<my file.md>) [w](https://e.org/a(b)) [m](mailto:a@b)\n\
                    [f](my%20file.md \"t\") [x](#here) `[no](gone.md)`\n```md\n[no](gone.md)\n```\n";
        fixture.write("README.md", "[docs](docs/guide/)\n").write("docs/guide/page.md", page);
        fixture.write("docs/guide/my file.md", "");
        assert_eq!(check(&fixture.load()).unwrap(), "links: 5 relative links resolve");
    }

    #[test]
    fn a_missing_readme_is_named() {
        let error = check(&Fixture::new().load()).unwrap_err().to_string();
        assert!(error.contains("README.md is missing"), "{error}");
    }
}
