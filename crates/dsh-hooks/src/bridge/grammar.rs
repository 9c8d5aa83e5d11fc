//! What a dialect's configuration looks like.

use crate::dialect::Dialect;
use crate::point::Point;

/// What a dialect's configuration looks like, besides what both have in common.
#[derive(Clone, Debug)]
pub struct Grammar {
    /// Whose configuration it is.
    pub dialect: Dialect,
    /// The points that hooks can be for; what stands at others is not looked at.
    pub points: &'static [Point],
    /// The names of a hook's time limit, in seconds; the first that is there counts.
    pub timeout_keys: &'static [&'static str],
    /// Whether a hook can be marked as `async`, which is not run then.
    pub has_async: bool,
    /// The variables, of those that its hooks find, that are expanded within single quotes too where a command has them as
    /// `${NAME}`.
    pub variables: Vec<&'static str>,
}

impl Grammar {
    /// What the shell is given for a command. The shell expands the variables: what was pasted into a command line would be
    /// code.
    pub(crate) fn command(&self, command: &str) -> String {
        // There only a shell can tell what is quoted.
        if command.contains("<<") || command.contains("$'") {
            return command.to_owned();
        }
        let (mut text, mut rest, mut quote, mut begins_word) = (String::new(), command, None, true);
        while let Some(char) = rest.chars().next() {
            let mut taken = char.len_utf8();
            match (char, quote) {
                ('$', Some('\'')) => {
                    if let Some(name) = self.variables.iter().find(|name| stands_at(rest, name)) {
                        text.push_str(&format!("'\"${{{name}}}\"'"));
                        rest = &rest[name.len() + 3..];
                        continue;
                    }
                }
                ('\\', None | Some('"')) => taken += rest[taken..].chars().next().map_or(0, char::len_utf8),
                ('#', None) if begins_word => taken = rest.find('\n').unwrap_or(rest.len()),
                ('\'' | '"', None) => quote = Some(char),
                (char, Some(open)) if char == open => quote = None,
                _ => {}
            }
            begins_word = char.is_whitespace() || matches!(char, ';' | '&' | '|' | '(');
            text.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
        text
    }
}

fn stands_at(text: &str, name: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with('}'))
}

#[cfg(test)]
mod tests {
    use super::Grammar;
    use crate::dialect::Dialect;

    #[test]
    fn a_variable_is_expanded_by_the_shell_within_single_quotes_too() {
        let grammar = Grammar {
            dialect: Dialect::ClaudeCode,
            points: &[],
            timeout_keys: &[],
            has_async: false,
            variables: vec!["ROOT"],
        };
        for (command, expected) in [
            ("${ROOT}/a \"${ROOT}/b\" $ROOT", "${ROOT}/a \"${ROOT}/b\" $ROOT"),
            ("'${ROOT}/a'", "''\"${ROOT}\"'/a'"),
            ("'${ROOT}${ROOT}é'", "''\"${ROOT}\"''\"${ROOT}\"'é'"),
            ("'${OTHER} ${ROOT:-x} ${ROOT'", "'${OTHER} ${ROOT:-x} ${ROOT'"),
            (r#"\'${ROOT} "'${ROOT}'" "\"'${ROOT}""#, r#"\'${ROOT} "'${ROOT}'" "\"'${ROOT}""#),
            ("# don't\n\"${ROOT}\"", "# don't\n\"${ROOT}\""),
            ("a#'${ROOT}'", "a#''\"${ROOT}\"''"),
            ("cat <<E\nit's ${ROOT}\nE", "cat <<E\nit's ${ROOT}\nE"),
            (r"$'\'' '${ROOT}'", r"$'\'' '${ROOT}'"),
            ("'", "'"),
            ("\\", "\\"),
            ("", ""),
        ] {
            assert_eq!(grammar.command(command), expected, "{command}");
        }
    }
}
