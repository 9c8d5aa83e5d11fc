//! What a command line needs to be there before a shell can run it.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What a shell does by itself.
const BUILT_IN: [&str; 50] = [
    "!", ".", ":", "[", "[[", "{", "(", "((", "alias", "bg", "break", "builtin", "case", "cd", "command",
    "continue", "declare", "echo", "eval", "exec", "exit", "export", "false", "fg", "for", "function",
    "hash", "if", "jobs", "kill", "let", "local", "printf", "pwd", "read", "readonly", "return", "set",
    "shift", "source", "test", "time", "trap", "true", "type", "ulimit", "umask", "unset", "until", "while",
];
/// Programs that run a file of their own language, which is the first thing that is not an option.
const INTERPRETERS: [&str; 10] =
    ["bash", "bun", "dash", "node", "perl", "python", "python3", "ruby", "sh", "zsh"];

/// What is wrong with the program of a command, none if nothing is or it cannot be told.
pub(crate) fn trouble(
    command: &str,
    folder: &Path,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut words = Words { rest: command, variables };
    let program = loop {
        match words.next()? {
            Word::Text(word) if is_assignment(&word) || word == "exec" => {}
            Word::Text(word) if word.starts_with('-') => return None,
            Word::Text(word) => break word,
            Word::Unknown => return None,
        }
    };
    if BUILT_IN.contains(&&*program) || program.starts_with(['(', '<', '>', '#', '&', '|', ';']) {
        return None;
    }
    if let Some(trouble) = unfit(&program, folder) {
        return Some(trouble);
    }
    let name = Path::new(&program).file_name()?.to_str()?;
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    // What comes after an option may be a program text, or belong to the option.
    let script = match words.next() {
        Some(Word::Text(script)) => script,
        Some(Word::Unknown) => return None,
        None => {
            return Some(format!(
                "`{program}` is given no script, so it runs what it reads: the JSON for the hook"
            ));
        }
    };
    let is_file = script.contains('/') || Path::new(&script).extension().is_some();
    let is_plain = !script.starts_with(['-', '<', '>', '&', '|', ';', '(']);
    (is_file && is_plain && !folder.join(&script).exists()).then(|| {
        format!("there is no file `{script}`: its interpreter may end with the exit code 2, which denies")
    })
}

/// The variables that a command reads, in order.
pub(crate) fn variables_of(command: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in command.split('$').skip(1) {
        let part = part.strip_prefix('{').unwrap_or(part);
        let end = part.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(part.len());
        let name = &part[..end];
        if !name.is_empty() && !names.iter().any(|it| it == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn unfit(program: &str, folder: &Path) -> Option<String> {
    if program.contains('/') {
        let path = folder.join(program);
        return match fs::metadata(&path) {
            Ok(file) if !file.is_file() => Some(format!("`{program}` is no file")),
            Ok(file) if file.permissions().mode() & 0o111 == 0 => {
                Some(format!("`{program}` is not executable: chmod +x {}", path.display()))
            }
            Ok(_) => None,
            Err(_) => Some(format!("there is no program `{program}`")),
        };
    }
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).any(|place| is_executable(&place.join(program)));
    (!found).then(|| format!("there is no program `{program}` in PATH"))
}

fn is_executable(path: &PathBuf) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The words of a command line as a shell would see them, as far as that can be told without one.
struct Words<'a> {
    rest: &'a str,
    variables: &'a dyn Fn(&str) -> Option<String>,
}

enum Word {
    Text(String),
    /// Only a shell knows.
    Unknown,
}

impl Words<'_> {
    fn next(&mut self) -> Option<Word> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n']);
        let mut word = String::new();
        let mut quote: Option<char> = None;
        let mut chars = self.rest.char_indices().peekable();
        let mut is_known = true;
        let mut end = self.rest.len();
        while let Some((at, char)) = chars.next() {
            match (char, quote) {
                (' ' | '\t' | '\n' | ';' | '&' | '|' | ')', None)
                    if !word.is_empty() || char.is_whitespace() =>
                {
                    end = at;
                    break;
                }
                ('\'', None) | ('"', None) => quote = Some(char),
                (char, Some(open)) if char == open => quote = None,
                ('\\', None | Some('"')) => word.extend(chars.next().map(|(_, char)| char)),
                ('~', None) if word.is_empty() && self.rest[at + 1..].starts_with('/') => {
                    match (self.variables)("HOME") {
                        Some(home) => word.push_str(&home),
                        None => is_known = false,
                    }
                }
                ('$', None | Some('"')) => {
                    let rest = &self.rest[at + 1..];
                    let (name, taken) = variable(rest);
                    match name.and_then(|name| (self.variables)(name)) {
                        Some(value) => word.push_str(&value),
                        None => is_known = false,
                    }
                    for _ in 0..rest[..taken].chars().count() {
                        chars.next();
                    }
                }
                ('`', None | Some('"')) | ('*' | '?', None) => is_known = false,
                (char, _) => word.push(char),
            }
        }
        let is_there = end > 0;
        self.rest = &self.rest[end..];
        is_there.then_some(if is_known { Word::Text(word) } else { Word::Unknown })
    }
}

/// The name after a dollar sign, and how many bytes it takes; none for what is more than a name.
fn variable(rest: &str) -> (Option<&str>, usize) {
    let name_end = |text: &str| {
        text.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(text.len())
    };
    if let Some(inner) = rest.strip_prefix('{') {
        let end = name_end(inner);
        return if inner[end..].starts_with('}') { (Some(&inner[..end]), end + 2) } else { (None, 0) };
    }
    match name_end(rest) {
        0 => (None, 0),
        end => (Some(&rest[..end]), end),
    }
}

#[cfg(test)]
mod tests {
    use super::{Path, trouble, variables_of};

    fn told(command: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plain.sh"), "").unwrap();
        let project = folder.path().display().to_string();
        trouble(command, folder.path(), &|name| (name == "CLAUDE_PROJECT_DIR").then(|| project.clone()))
            .map(|text| text.replace(&*project, "DIR"))
    }

    #[test]
    fn the_first_word_is_the_program_whatever_stands_around_it() {
        let missing = Some("there is no program `no-such-program` in PATH".to_owned());
        for command in [
            "no-such-program",
            "  'no-such-program' --flag",
            "A=1 B='2 3' no-such-program",
            "no-such-program; true",
            "no-such-program|cat",
            "\"no-such\"-program && x",
            "no\\-such-program",
        ] {
            assert_eq!(told(command), missing, "{command}");
        }
    }

    #[test]
    fn what_a_shell_does_by_itself_or_only_a_shell_knows_is_no_trouble() {
        for command in [
            "cat > /dev/null",
            "if true; then no-such-program; fi",
            "[ -n x ]",
            "echo no-such-program",
            "(no-such-program)",
            "$(which no-such-program)",
            "$UNKNOWN/x.sh",
            "`no-such-program`",
            "./*.sh",
            "",
            "  ",
            "A=1",
            "{ no-such-program; }",
        ] {
            assert_eq!(told(command), None, "{command}");
        }
    }

    #[test]
    fn a_file_is_looked_for_in_the_folder_and_where_variables_lead() {
        let not_there = |name: &str| Some(format!("there is no program `{name}`"));
        assert_eq!(told("./none.sh"), not_there("./none.sh"));
        assert_eq!(told("\"$CLAUDE_PROJECT_DIR\"/none.sh"), not_there("DIR/none.sh"));
        assert_eq!(told("${CLAUDE_PROJECT_DIR}/none.sh x"), not_there("DIR/none.sh"));
        assert_eq!(told("$CLAUDE_PROJECT_DIR"), Some("`DIR` is no file".to_owned()));
        let plain = told("./plain.sh").unwrap();
        assert!(plain.starts_with("`./plain.sh` is not executable: chmod +x"), "{plain}");
    }

    #[test]
    fn an_interpreter_needs_its_file() {
        let missing = told("sh \"$CLAUDE_PROJECT_DIR/none.sh\"").unwrap();
        assert!(missing.starts_with("there is no file `DIR/none.sh`: "), "{missing}");
        let without =
            Some("`sh` is given no script, so it runs what it reads: the JSON for the hook".to_owned());
        assert_eq!((told("sh"), told("exec sh ")), (without.clone(), without));
        let missing = told("exec sh 'none.sh'").unwrap();
        assert!(missing.starts_with("there is no file `none.sh`: "), "{missing}");
        for command in ["exec -a x y", "sh plain.sh", "sh -c 'none.sh'", "sh < none.sh", "sh $UNKNOWN.sh"] {
            assert_eq!(told(command), None, "{command}");
        }
    }

    #[test]
    fn variables_are_found_with_and_without_braces() {
        let names = variables_of("echo $A \"${B_1}/x\" $A ${C:-d} $(x) $1");
        assert_eq!(names, ["A", "B_1", "C", "1"]);
        assert!(variables_of("plain").is_empty());
        assert!(trouble("plain-and-not-there", Path::new("/"), &|_| None).is_some());
    }
}
