//! README.md's first commands: what a newcomer types works as printed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use crate::markdown::{self, Place};
use crate::process;
use crate::workspace::Workspace;

/// The command that tests everything; the second that README.md shows.
pub const TEST_COMMAND: &str = "cargo test --workspace";

/// The cargo commands of README.md's first `sh` blocks, until there are two of them.
///
/// # Errors
/// When README.md is missing, shows fewer than two commands, or the second is not [`TEST_COMMAND`].
pub fn commands(workspace: &Workspace) -> Result<Vec<String>> {
    let text = workspace.read("README.md", "write it, with a ```sh block whose commands a newcomer types")?;
    let commands = parse(&text);
    ensure!(
        commands.len() >= 2,
        "README.md shows {} cargo commands in its first ```sh block: show one that prints something, then `{TEST_COMMAND}`",
        commands.len()
    );
    ensure!(
        commands[1] == TEST_COMMAND,
        "README.md's second command is `{}`: it must be `{TEST_COMMAND}`",
        commands[1]
    );
    Ok(commands)
}

/// Checks what README.md shows and runs its first command here; returns a one-line summary.
///
/// # Errors
/// When the commands are not as [`commands`] wants them, or the first one fails or prints nothing.
pub fn check(workspace: &Workspace) -> Result<String> {
    let commands = commands(workspace)?;
    let home = home()?;
    let output =
        command(workspace.root(), home.path(), &commands[0])?.output().context("cannot start cargo")?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("README.md's `{}` ended with {}:\n{}", commands[0], output.status, complaint.trim_end());
    }
    ensure!(!output.stdout.trim_ascii().is_empty(), "README.md's `{}` prints nothing on stdout", commands[0]);
    Ok(format!("readme: `{}` works", commands[0]))
}

/// Runs all the commands in a fresh clone that also has the working tree's changes, with a build folder of its own.
///
/// # Errors
/// When cloning fails or a command does; its output has been shown by then.
pub fn rehearse(workspace: &Workspace) -> Result<String> {
    let commands = commands(workspace)?;
    let folder = home()?;
    let clone = folder.path().join("clone");
    clone_with_changes(workspace.root(), &clone)?;
    for line in &commands {
        println!("$ {line}");
        let mut command = command(&clone, folder.path(), line)?;
        let status = command.env_remove("CARGO_TARGET_DIR").status().context("cannot start cargo")?;
        ensure!(status.success(), "README.md's `{line}` ended with {status} in a fresh clone");
    }
    Ok(format!("readme: {} commands work in a fresh clone", commands.len()))
}

fn parse(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut finished = None;
    for line in markdown::lines(text) {
        let Place::Block { info: "sh", opened } = line.place else { continue };
        if finished.is_some_and(|block| block != opened) {
            break;
        }
        let shown = line.text.trim();
        let shown = shown.strip_prefix("$ ").unwrap_or(shown);
        let shown = shown.split_once(" # ").map_or(shown, |(before, _)| before).trim_end();
        if shown == "cargo" || shown.starts_with("cargo ") {
            commands.push(shown.to_owned());
        }
        if commands.len() >= 2 {
            finished = Some(opened);
        }
    }
    commands
}

/// A command as a newcomer runs it: without a key, so nobody is asked for what costs money, and with a home of its own.
fn command(folder: &Path, home: &Path, line: &str) -> Result<Command> {
    let words = words(line)?;
    let mut command = process::cargo(folder);
    command.args(&words[1..]).stdin(Stdio::null());
    command.env_remove("DEEPSEEK_API_KEY").env_remove("DSH_SNAPSHOT_FILE").env("DSH_HOME", home);
    Ok(command)
}

fn home() -> Result<TempDir> {
    tempfile::tempdir().context("cannot create a temporary folder")
}

/// Splits a plain command as a shell would; anything that needs a shell is refused.
fn words(line: &str) -> Result<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut quote = None;
    let mut inside = false;
    for char in line.chars() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(char);
                if !inside {
                    words.push(String::new());
                    inside = true;
                }
            }
            (None, ' ' | '\t') => inside = false,
            (None, '|' | '&' | ';' | '<' | '>' | '$' | '`' | '*' | '\\') | (Some('"'), '$' | '`' | '\\') => {
                bail!("README.md's `{line}` needs a shell (`{char}`): keep its commands plain");
            }
            _ => {
                if !inside {
                    words.push(String::new());
                    inside = true;
                }
                if let Some(word) = words.last_mut() {
                    word.push(char);
                }
            }
        }
    }
    ensure!(quote.is_none(), "README.md's `{line}` has an open quote");
    Ok(words)
}

/// Clones HEAD and copies every tracked or new file of the working tree over it.
fn clone_with_changes(root: &Path, clone: &Path) -> Result<()> {
    let target = clone.to_str().context("the temporary folder's path is not UTF-8")?;
    process::git(root, &["clone", "--quiet", ".", target])?;
    for name in process::git(clone, &["ls-files", "-z"])?.split('\0').filter(|name| !name.is_empty()) {
        if !root.join(name).exists() {
            fs::remove_file(clone.join(name))
                .with_context(|| format!("cannot remove {name} from the clone"))?;
        }
    }
    let listed = process::git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    for name in listed.split('\0').filter(|name| root.join(name).is_file()) {
        let to = clone.join(name);
        let copy = || -> std::io::Result<()> {
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(root.join(name), &to)?;
            Ok(())
        };
        copy().with_context(|| format!("cannot copy {name} into the clone"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    use super::*;

    fn readme(block: &str) -> Fixture {
        let fixture = Fixture::new();
        fixture.write(
            "README.md",
            &format!("# R\n\n```rust\ncargo no\n```\n\n```sh\n{block}```\n\n```sh\ncargo later\n```\n"),
        );
        fixture
    }

    #[test]
    fn commands_are_those_of_the_first_sh_block() {
        let fixture = readme("git clone x\n$ cargo run -p dsh # prints\ncargo test --workspace\ncargo doc\n");
        assert_eq!(
            commands(&fixture.load()).unwrap(),
            ["cargo run -p dsh", "cargo test --workspace", "cargo doc"]
        );
    }

    #[test]
    fn another_second_command_is_rejected() {
        let error = commands(&readme("cargo run\ncargo test\n").load()).unwrap_err().to_string();
        assert!(
            error.contains("second command is `cargo test`: it must be `cargo test --workspace`"),
            "{error}"
        );
        let fixture = Fixture::new();
        fixture.write("README.md", "# R\n");
        let error = commands(&fixture.load()).unwrap_err().to_string();
        assert!(error.contains("shows 0 cargo commands"), "{error}");
    }

    #[test]
    fn a_first_command_that_fails_or_prints_nothing_is_rejected() {
        let error =
            check(&readme("cargo no-such-thing\ncargo test --workspace\n").load()).unwrap_err().to_string();
        assert!(error.contains("`cargo no-such-thing` ended with"), "{error}");
        let silent = readme("cargo init --quiet --vcs none sub\ncargo test --workspace\n");
        let error = check(&silent.load()).unwrap_err().to_string();
        assert!(error.contains("prints nothing on stdout"), "{error}");
    }

    #[test]
    fn a_first_command_that_prints_is_accepted_unless_it_needs_a_shell() {
        let summary = check(&readme("cargo --version\ncargo test --workspace\n").load()).unwrap();
        assert_eq!(summary, "readme: `cargo --version` works");
        let error =
            check(&readme("cargo help > x\ncargo test --workspace\n").load()).unwrap_err().to_string();
        assert!(error.contains("needs a shell (`>`)"), "{error}");
    }

    #[test]
    fn quoted_words_stay_together() {
        assert_eq!(
            words("cargo run -- \"say it\"  'a b'c").unwrap(),
            ["cargo", "run", "--", "say it", "a bc"]
        );
    }

    #[test]
    fn a_rehearsal_sees_uncommitted_changes_and_not_what_was_deleted() {
        let fixture = readme("cargo a\ncargo test --workspace\n");
        let git = |args: &[&str]| process::git(fixture.root(), args).unwrap();
        git(&["init", "--quiet"]);
        fixture.write("gone.txt", "").write("kept.txt", "old");
        git(&["add", "."]);
        git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--message", "first"]);
        fs::remove_file(fixture.root().join("gone.txt")).unwrap();
        fixture.write("kept.txt", "new").write("sub/new.txt", "").write(".gitignore", "/x\n").write("x", "");

        let clone = fixture.root().join("x.d");
        clone_with_changes(fixture.root(), &clone).unwrap();
        assert_eq!(fs::read_to_string(clone.join("kept.txt")).unwrap(), "new");
        assert!(clone.join("sub/new.txt").exists());
        assert!(!clone.join("gone.txt").exists());
        assert!(!clone.join("x").exists());
    }
}
