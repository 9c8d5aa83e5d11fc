//! Names that programs of every language can use.

/// The words of ECMAScript and of Python that cannot be names, or not everywhere.
const WORDS: [&str; 71] = [
    "False",
    "None",
    "True",
    "_",
    "and",
    "arguments",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "def",
    "default",
    "del",
    "delete",
    "do",
    "elif",
    "else",
    "enum",
    "eval",
    "except",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "from",
    "function",
    "global",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "is",
    "lambda",
    "let",
    "match",
    "new",
    "nonlocal",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "public",
    "raise",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "type",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// The globals that programs have for themselves.
const GLOBALS: [&str; 5] = ["console", "__dsh_main__", "__builtins__", "__name__", "__debug__"];

/// The members that errors have for themselves.
const MEMBERS: [&str; 6] = ["name", "message", "stack", "args", "with_traceback", "add_note"];

/// Whether programs of every language can have something of this name: `[A-Za-z_][A-Za-z0-9_]*`, and no word of ECMAScript
/// or Python.
#[must_use]
pub fn is_usable_identifier(name: &str) -> bool {
    is_plain(name) && !WORDS.contains(&name)
}

/// Whether a global of this name has a meaning of its own in programs.
#[must_use]
pub fn is_reserved_global(name: &str) -> bool {
    GLOBALS.contains(&name)
}

/// Whether errors have a member of this name for themselves.
#[must_use]
pub fn is_reserved_error_member(name: &str) -> bool {
    MEMBERS.contains(&name) || (name.len() > 4 && name.starts_with("__") && name.ends_with("__"))
}

fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
