//! The chapters: files in `docs/spec` and the behaviours they number.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Workspace, files_below};

use super::BehaviourId;

/// A collection of public bug cases; its ids stand in list items instead of at the start of a line.
const CASES: &str = "cases";
/// The promises and decisions of the design page, cited before any of them is part of this repository.
const DESIGN: &str = "design";

/// One file of `docs/spec`.
#[derive(Debug)]
pub struct Chapter {
    /// The file's name without `.md`.
    pub name: String,
    /// The ids in it, in their order.
    pub ids: Vec<String>,
}

impl Chapter {
    /// The full id of one of its behaviours.
    pub fn behaviour(&self, id: &str) -> BehaviourId {
        BehaviourId { chapter: self.name.clone(), id: id.to_owned() }
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let mut ids: Vec<String> = Vec::new();
        for line in text.lines() {
            let id = if name == CASES { case(line) } else { behaviour(line) };
            let Some(id) = id else { continue };
            if ids.iter().any(|known| known == id) {
                bail!("docs/spec/{name}.md numbers `{id}` twice: give the second one a suffix, `{id}b`");
            }
            ids.push(id.to_owned());
        }
        Ok(Self { name: name.to_owned(), ids })
    }
}

/// Reads all chapters that number anything, by name.
///
/// # Errors
/// When there are none, or when one numbers an id twice.
pub fn load(workspace: &Workspace) -> Result<Vec<Chapter>> {
    let mut chapters = Vec::new();
    for path in files_below(&workspace.root().join("docs/spec"), ".md")? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let chapter = Chapter::parse(&path.file_stem().unwrap_or_default().to_string_lossy(), &text)?;
        if !chapter.ids.is_empty() {
            chapters.push(chapter);
        }
    }
    if chapters.is_empty() {
        bail!("docs/spec holds no numbered behaviours: put the specification's chapters there");
    }
    Ok(chapters)
}

/// Checks that an id exists; ids of `cases` and `design` need only look right as long as there is no such chapter.
///
/// # Errors
/// When it does not exist; the message names what does.
pub fn verify(chapters: &[Chapter], id: &BehaviourId) -> Result<()> {
    if let Some(chapter) = chapters.iter().find(|chapter| chapter.name == id.chapter) {
        if chapter.ids.contains(&id.id) {
            return Ok(());
        }
        bail!("`{id}` does not exist: docs/spec/{}.md has no `{}`", id.chapter, id.id);
    }
    let elsewhere = id.chapter == CASES || id.chapter == DESIGN;
    if elsewhere && id.id.find(|char: char| char.is_ascii_digit()) == Some(1) && is_id(&id.id) {
        return Ok(());
    }
    let known: Vec<_> = chapters.iter().map(|chapter| chapter.name.as_str()).collect();
    bail!("`{id}` does not exist: there is no docs/spec/{}.md, only {}", id.chapter, known.join(", "));
}

/// Whether the text is letters, digits, and at most one lower-case letter: `C17`, `T63d`.
pub fn is_id(text: &str) -> bool {
    let digits = text.trim_start_matches(|char: char| char.is_ascii_uppercase());
    let suffix = digits.trim_start_matches(|char: char| char.is_ascii_digit());
    let suffix_is_fine =
        suffix.is_empty() || (suffix.len() == 1 && suffix.starts_with(|c: char| c.is_ascii_lowercase()));
    digits.len() < text.len() && suffix.len() < digits.len() && suffix_is_fine
}

/// The id that a line of an ordinary chapter begins with: `C17. …`.
fn behaviour(line: &str) -> Option<&str> {
    let (id, rest) = line.split_once('.')?;
    (is_id(id) && (rest.is_empty() || rest.starts_with(' '))).then_some(id)
}

/// The id that a list item of the cases begins with: `- D3 …`.
fn case(line: &str) -> Option<&str> {
    let (id, _) = line.strip_prefix("- ")?.split_once(' ')?;
    is_id(id).then_some(id)
}
