//! Leaks: no file of the repository names a folder of the machine it was written on.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::problems::Problems;
use crate::process;
use crate::workspace::{Workspace, files_below};

/// Beginnings of paths that exist on a build machine only; split so that this file is not a leak itself.
const FORBIDDEN: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "bash")];

/// Checks all text files that are tracked, or would be when added; returns a one-line summary.
///
/// # Errors
/// When a file names such a path; the message names each as `file:line`.
pub fn check(workspace: &Workspace) -> Result<String> {
    let mut problems = Problems::default();
    let files = files(workspace.root())?;
    for path in &files {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        for (index, line) in text.lines().enumerate() {
            if let Some(leak) = FORBIDDEN.iter().find(|leak| names(line, leak)) {
                problems.push(format!("{}:{} names a path under `{leak}`", workspace.show(path), index + 1));
            }
        }
    }
    problems.finish("name files relative to the repository, and other places by what they are")?;
    Ok(format!("leaks: {} files name no machine's folders", files.len()))
}

/// Whether the line holds the beginning as an absolute path, not as the end of a longer one.
fn names(line: &str, leak: &str) -> bool {
    line.match_indices(leak).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|char| char.is_alphanumeric() || "_-.~*})]>".contains(char))
    })
}

/// What git tracks or would track; every file where there is no git.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let listed = process::git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut files = match listed {
        Ok(listed) => {
            listed.split('\0').filter(|name| !name.is_empty()).map(|name| root.join(name)).collect()
        }
        Err(_) => files_below(root, "")?,
    };
    // A tracked file may be deleted in the working tree; a link leads to what is checked elsewhere.
    files.retain(|path| path.is_file() && !path.is_symlink());
    Ok(files)
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    use super::*;

    #[test]
    fn a_path_of_this_machine_is_rejected_with_its_place() {
        let fixture = Fixture::new();
        for (index, leak) in FORBIDDEN.iter().enumerate() {
            fixture.write(&format!("notes/{index}.md"), &format!("fine\nsee `{leak}x` there\n"));
        }
        let error = check(&fixture.load()).unwrap_err().to_string();
        for (index, leak) in FORBIDDEN.iter().enumerate() {
            assert!(error.contains(&format!("notes/{index}.md:2 names a path under `{leak}`")), "{error}");
        }
    }

    #[test]
    fn the_end_of_a_longer_path_ignored_files_and_binaries_pass() {
        let fixture = Fixture::new();
        let leak = FORBIDDEN[0];
        fixture.write("a.md", &format!("home{leak}x and {{dir}}{leak}x\n"));
        fixture.write("target/b.md", leak).write("crates/x/target/b.md", leak);
        fs::write(fixture.root().join("c.bin"), [&[0xff][..], leak.as_bytes()].concat()).unwrap();
        check(&fixture.load()).unwrap();
    }

    #[test]
    fn git_decides_which_files_count_where_there_is_one() {
        let fixture = Fixture::new();
        process::git(fixture.root(), &["init", "--quiet"]).unwrap();
        fixture.write(".gitignore", "/private\n").write("private/a.md", FORBIDDEN[1]);
        check(&fixture.load()).unwrap();
        fixture.write("public/a.md", FORBIDDEN[1]);
        assert!(check(&fixture.load()).unwrap_err().to_string().contains("public/a.md:1"));
    }
}
