//! Names in Python: which can be written, and what classes are called.

use std::collections::{HashMap, HashSet};

use unicode_ident::{is_xid_continue, is_xid_start};
use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// How many characters a class's name has at most, its number not counted.
const LONGEST: usize = 120;

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Whether a name can be written as it is, and is then read as it is.
fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|first| first == '_' || is_xid_start(first));
    first && chars.all(is_xid_continue) && is_nfkc(name) && !KEYWORDS.contains(&name) && name != "__debug__"
}

/// Whether a tool of this name can be declared as a method. Names that begin with an underscore are the protocol's own.
pub(super) fn is_method(name: &str) -> bool {
    is_identifier(name) && !name.starts_with('_')
}

/// Whether a field of this name can be declared in a class body, where a name such as `__x` would become another.
pub(super) fn is_field(name: &str) -> bool {
    is_identifier(name) && (!name.starts_with("__") || name.ends_with("__"))
}

/// The words of a name, each with a capital first letter.
pub(super) fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    for word in name.split(|char: char| char == '_' || !is_xid_continue(char)) {
        let mut chars = word.chars();
        camel.extend(chars.next().into_iter().flat_map(char::to_uppercase));
        camel.push_str(chars.as_str());
    }
    camel
}

/// The names that classes have so far.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// For each name that was asked for again, the number of the last one.
    numbers: HashMap<String, usize>,
}

impl Names {
    /// A name for a class, like the given one, which begins with a letter.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let base: String = wanted.nfkc().take(LONGEST).collect();
        if self.taken.insert(base.clone()) {
            return base;
        }
        let number = self.numbers.entry(base.clone()).or_insert(1);
        loop {
            *number += 1;
            let name = format!("{base}{number}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
