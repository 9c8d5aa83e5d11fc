//! A program with its arguments, as the command line of a shell.

use std::borrow::Cow;

use serde_json::Value;

use crate::dialect::Dialect;

/// What Claude Code puts into the arguments of a program that no shell runs, and a shell expands here.
const FOLDERS: [&str; 2] = ["${CLAUDE_PLUGIN_ROOT}", "${CLAUDE_PROJECT_DIR}"];

/// What a shell is given for a command: the command line itself, or, with `args`, what runs exactly this program with
/// exactly these arguments. None if they are no list of texts.
///
/// Without them a program such as `bash` would take what is told to the hook for its script.
pub(crate) fn command_line<'c>(
    command: &'c str,
    args: Option<&Value>,
    dialect: Dialect,
) -> Option<Cow<'c, str>> {
    let args = match args {
        None | Some(Value::Null) => return Some(Cow::Borrowed(command)),
        Some(args) => args.as_array()?,
    };
    // A program whose name is like an option of `exec` is a program all the same.
    let mut line = if command.starts_with('-') { "exec --" } else { "exec" }.to_owned();
    for word in std::iter::once(Some(command)).chain(args.iter().map(Value::as_str)) {
        line.push(' ');
        quote(&mut line, word?, dialect);
    }
    Some(Cow::Owned(line))
}

/// One word, of which a shell expands nothing but the folders.
fn quote(line: &mut String, word: &str, dialect: Dialect) {
    if !word.is_empty() && word.bytes().all(is_plain) {
        line.push_str(word);
        return;
    }
    let folders = match dialect {
        Dialect::ClaudeCode => &FOLDERS[..],
        Dialect::Codex => &[],
    };
    let mut rest = word;
    loop {
        let next = folders.iter().filter_map(|name| Some((rest.find(name)?, *name))).min();
        let text = next.map_or(rest, |(at, _)| &rest[..at]);
        if !text.is_empty() || word.is_empty() {
            line.push('\'');
            line.push_str(&text.replace('\'', r"'\''"));
            line.push('\'');
        }
        let Some((at, name)) = next else { return };
        line.push('"');
        line.push_str(name);
        line.push('"');
        rest = &rest[at + name.len()..];
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b',' | b'@' | b'+')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::command_line;
    use crate::dialect::Dialect;

    fn line(command: &str, args: &Value) -> Option<String> {
        command_line(command, Some(args), Dialect::ClaudeCode).map(String::from)
    }

    #[test]
    fn arguments_are_words_in_which_nothing_but_folders_is_expanded() {
        for (command, args, expected) in [
            ("bash", json!(["./guard.sh"]), "exec bash ./guard.sh"),
            ("my prog", json!([]), "exec 'my prog'"),
            ("-c", json!(["x"]), "exec -- -c x"),
            ("p", json!(["", "a b", "it's", "$X `y` $(z)"]), r"exec p '' 'a b' 'it'\''s' '$X `y` $(z)'"),
            ("p", json!(["~", "*", "a=b", "é"]), "exec p '~' '*' 'a=b' 'é'"),
            (
                "${CLAUDE_PLUGIN_ROOT}/p",
                json!(["--in=${CLAUDE_PROJECT_DIR}${CLAUDE_PLUGIN_ROOT}"]),
                r#"exec "${CLAUDE_PLUGIN_ROOT}"'/p' '--in='"${CLAUDE_PROJECT_DIR}""${CLAUDE_PLUGIN_ROOT}""#,
            ),
        ] {
            assert_eq!(line(command, &args).as_deref(), Some(expected), "{args}");
        }
        let codex = command_line("p", Some(&json!(["${CLAUDE_PROJECT_DIR}"])), Dialect::Codex);
        assert_eq!(codex.as_deref(), Some("exec p '${CLAUDE_PROJECT_DIR}'"));
    }

    #[test]
    fn without_arguments_a_command_is_a_command_line_and_others_than_texts_are_none() {
        assert_eq!(line("a | b", &Value::Null).as_deref(), Some("a | b"));
        assert_eq!(command_line("a | b", None, Dialect::Codex).as_deref(), Some("a | b"));
        for args in [json!("x"), json!([1]), json!({}), json!(["x", null]), json!(true)] {
            assert_eq!(line("p", &args), None, "{args}");
        }
    }
}
