//! Coverage of the numbered behaviours in `docs/spec`: by tests that cite them, or by `docs/fidelity.md`.

pub mod chapters;
pub mod cites;
pub mod fidelity;

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::problems::Problems;
use crate::workspace::{Workspace, files_below};

use chapters::Chapter;

/// The chapters that must stay fully covered; `cargo test` fails when one is not.
pub const STRICT: &[&str] =
    &["agent-loop", "cordis-core", "scope", "session", "tools", "timeout-jobs-hooks", "llm", "system-prompt"];

const REMEDY: &str = "a cite is `// spec: cordis-core/C17, C18` directly above a test; \
                      the ids are those of docs/spec; what we leave out or do differently goes into docs/fidelity.md";

/// A cited behaviour: `cordis-core/C17`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BehaviourId {
    /// The name of the file in `docs/spec`, without `.md`.
    pub chapter: String,
    /// The id inside the file.
    pub id: String,
}

impl fmt::Display for BehaviourId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.chapter, self.id)
    }
}

/// Which behaviours are covered.
#[derive(Debug)]
pub struct Coverage {
    chapters: Vec<Chapter>,
    covered: BTreeSet<BehaviourId>,
}

impl Coverage {
    /// One line for each chapter, `cordis-core 120/141`; with `missing` the uncovered ids below it.
    pub fn summary(&self, missing: bool) -> String {
        let mut text = String::new();
        for chapter in &self.chapters {
            let open = self.uncovered(chapter);
            let total = chapter.ids.len();
            let _ = writeln!(text, "{} {}/{total}", chapter.name, total - open.len());
            if missing && !open.is_empty() {
                let _ = writeln!(text, "  {}", open.join(" "));
            }
        }
        text
    }

    /// The names of all chapters.
    pub fn chapter_names(&self) -> Vec<&str> {
        self.chapters.iter().map(|chapter| chapter.name.as_str()).collect()
    }

    /// Fails unless each of these chapters is fully covered.
    ///
    /// # Errors
    /// When a chapter is missing or has uncovered behaviours; the message names them.
    pub fn require(&self, names: &[&str]) -> Result<()> {
        let mut problems = Problems::default();
        for name in names {
            let Some(chapter) = self.chapters.iter().find(|chapter| chapter.name == *name) else {
                problems.push(format!("docs/spec/{name}.md is missing or holds no behaviours"));
                continue;
            };
            let open = self.uncovered(chapter);
            if !open.is_empty() {
                problems.push(format!(
                    "{name}: {} behaviours are not covered: {}",
                    open.len(),
                    open.join(" ")
                ));
            }
        }
        problems
            .finish("cover each with a test that cites it, or list it in docs/fidelity.md with the reason")
    }

    fn uncovered<'a>(&self, chapter: &'a Chapter) -> Vec<&'a str> {
        let open = |id: &&String| !self.covered.contains(&chapter.behaviour(id));
        chapter.ids.iter().filter(open).map(String::as_str).collect()
    }
}

/// Reads the chapters, the cites and the fidelity page, and matches them.
///
/// # Errors
/// When one of them is missing or malformed, or when something is cited that no chapter holds; the message names each
/// place as `file:line`.
pub fn check(workspace: &Workspace) -> Result<Coverage> {
    let chapters = chapters::load(workspace)?;
    let mut problems = Problems::default();
    let mut covered = BTreeSet::new();
    for (place, ids) in claims(workspace)? {
        match ids {
            Ok(ids) => {
                for id in ids {
                    match chapters::verify(&chapters, &id) {
                        Ok(()) => drop(covered.insert(id)),
                        Err(error) => problems.push(format!("{place}: {error}")),
                    }
                }
            }
            Err(error) => problems.push(format!("{place}: {error}")),
        }
    }
    problems.finish(REMEDY)?;
    Ok(Coverage { chapters, covered })
}

/// Everything that claims to cover behaviours, with its place as `file:line`.
fn claims(workspace: &Workspace) -> Result<Vec<(String, Result<Vec<BehaviourId>>)>> {
    let mut claims = Vec::new();
    for path in sources(workspace)? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let shown = workspace.show(&path);
        for cite in cites::find(&text).with_context(|| format!("cannot find the cites of {shown}"))? {
            claims.push((format!("{shown}:{}", cite.line), cite.ids));
        }
    }
    for entry in fidelity::load(workspace)? {
        claims.push((format!("{}:{}", fidelity::PATH, entry.line), entry.ids));
    }
    Ok(claims)
}

/// Parses `cordis-core/C17, C18`: an id without its chapter belongs to the chapter before it.
fn parse_ids(text: &str) -> Result<Vec<BehaviourId>> {
    let mut chapter: Option<&str> = None;
    let mut ids = Vec::new();
    for item in text.split(',').map(str::trim) {
        let id = match item.split_once('/') {
            Some((name, id)) => {
                chapter = Some(name);
                id
            }
            None => item,
        };
        let Some(chapter) = chapter.filter(|name| !name.is_empty() && !name.contains(char::is_whitespace))
        else {
            bail!("`{item}` names no chapter: write `cordis-core/C17`");
        };
        if !chapters::is_id(id) {
            bail!("`{item}` is not an id: write single ids separated by commas, `{chapter}/C17, C18`");
        }
        ids.push(BehaviourId { chapter: chapter.to_owned(), id: id.to_owned() });
    }
    Ok(ids)
}

/// The Rust files whose tests may cite: `src` and `tests` of each crate, all of `examples` and `xtask`.
fn sources(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for package in workspace.packages() {
        let folder = workspace.root().join(&package.folder);
        if package.folder.starts_with("crates") {
            files.extend(files_below(&folder.join("src"), ".rs")?);
            files.extend(files_below(&folder.join("tests"), ".rs")?);
        } else {
            files.extend(files_below(&folder, ".rs")?);
        }
    }
    files.retain(|file| !workspace.excludes(file));
    Ok(files)
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
