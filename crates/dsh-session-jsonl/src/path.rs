//! The names of folders: of a project, made from the folder that a session works in, and of a session, made from its id.

use std::fmt::Write as _;
use std::path::PathBuf;

use dsh_session::SessionHeader;
use std::error::Error;
use std::fmt;

/// The longest part of a project's name between its dashes, in characters.
const SLUG_LIMIT: usize = 251;

/// A name that no folder can be made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// The session's folder is an empty text.
    EmptyCwd,
    /// The session's id is an empty text.
    EmptyId,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyCwd => "`cwd` must not be empty: leave it out for a session without a folder",
            Self::EmptyId => "a session's `id` must not be empty",
        })
    }
}

impl Error for PathError {}

/// The folder of all sessions that work in `cwd`. Two folders may share one: the name is there for people.
///
/// # Errors
/// An empty path has none.
pub fn project_folder(cwd: Option<&str>) -> Result<String, PathError> {
    let Some(cwd) = cwd else { return Ok("_no-cwd".to_owned()) };
    if cwd.is_empty() {
        return Err(PathError::EmptyCwd);
    }
    let mut slug = String::new();
    let mut after_separator = false;
    for character in cwd.chars() {
        let separator = matches!(character, '/' | '\\' | ':');
        match (separator, after_separator) {
            (true, true) => {}
            (true, false) => slug.push('-'),
            (false, _) if is_safe(character) => slug.push(character),
            (false, _) => push_units(&mut slug, character),
        }
        after_separator = separator;
    }
    let slug = slug.trim_start_matches('-');
    let slug = if slug.is_empty() { "root" } else { slug };
    // All of it is ASCII, so a byte is a character; a coded one may be cut.
    let slug = slug.get(..SLUG_LIMIT).unwrap_or(slug);
    Ok(format!("--{slug}--"))
}

/// The folder of the session `id` in its project. No two ids share one.
///
/// # Errors
/// An empty id has none.
pub fn session_folder(id: &str) -> Result<String, PathError> {
    match id {
        "" => return Err(PathError::EmptyId),
        "." => return Ok("~002E".to_owned()),
        ".." => return Ok("~002E~002E".to_owned()),
        _ => {}
    }
    let mut name = String::with_capacity(id.len());
    for character in id.chars() {
        if is_safe(character) {
            name.push(character);
        } else {
            push_units(&mut name, character);
        }
    }
    Ok(name)
}

/// The folder of a session, seen from the root.
pub(crate) fn relative(header: &SessionHeader) -> Result<PathBuf, PathError> {
    Ok(PathBuf::from(project_folder(header.cwd.as_deref())?).join(session_folder(&header.id)?))
}

fn is_safe(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-')
}

fn push_units(name: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a `String` does not fail.
        let _ = write!(name, "~{unit:04X}");
    }
}
