//! Cites: `// spec: cordis-core/C17` comments directly above a test.
//!
//! **Invariants**
//! 1. Positions come from the compiler's lexer, so a comment inside a string literal is not a cite.
//! 2. A cite belongs to the function whose head (first attribute to `fn`) holds the first token after it; blank lines
//!    in between separate it.

use anyhow::{Error, Result, anyhow};
use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};

use super::{BehaviourId, parse_ids};

const MARK: &str = "// spec:";

/// One comment that cites.
#[derive(Debug)]
pub struct Cite {
    /// Counted from 1.
    pub line: usize,
    /// What it cites, or why it does not count.
    pub ids: Result<Vec<BehaviourId>>,
}

/// Finds the cites in a Rust source, in their order.
///
/// # Errors
/// When the text does not lex.
pub fn find(source: &str) -> Result<Vec<Cite>> {
    if !source.contains(MARK) {
        return Ok(Vec::new());
    }
    let stream: TokenStream = source.parse().map_err(|error| anyhow!("it does not lex: {error}"))?;
    let mut outline = Outline::default();
    outline.walk(stream);
    let lines: Vec<&str> = source.lines().collect();
    let mut cites = Vec::new();
    for (index, text) in lines.iter().enumerate() {
        let Some(ids) = text.trim_start().strip_prefix(MARK) else { continue };
        let at = LineColumn {
            line: index + 1,
            column: text.chars().take_while(|char| char.is_whitespace()).count(),
        };
        if outline.is_inside_literal(at) {
            continue;
        }
        let ids = match outline.owner(at, &lines) {
            Owner::Test => parse_ids(ids),
            Owner::Ignored => Err(misplaced("the test below it is ignored")),
            Owner::Other => Err(misplaced("no test follows")),
        };
        cites.push(Cite { line: at.line, ids });
    }
    Ok(cites)
}

fn misplaced(reason: &str) -> Error {
    anyhow!("this cite covers nothing ({reason}): put it directly above the attributes of a test that runs")
}

/// What stands below a cite.
enum Owner {
    Test,
    Ignored,
    Other,
}

/// The head of a function with attributes: from its first attribute to `fn`.
struct Head {
    start: LineColumn,
    end: LineColumn,
    test: bool,
    ignored: bool,
}

/// What matters of a file's tokens, in source order.
#[derive(Default)]
struct Outline {
    starts: Vec<LineColumn>,
    literals: Vec<(LineColumn, LineColumn)>,
    heads: Vec<Head>,
}

impl Outline {
    /// Takes in a stream and everything nested in it, macro bodies included.
    fn walk(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut next_head = 0;
        for (index, token) in tokens.iter().enumerate() {
            if index >= next_head && is_attribute(&tokens[index..]) {
                let length = self.head(&tokens[index..]);
                next_head = index + length;
            }
            self.starts.push(token.span().start());
            match token {
                TokenTree::Group(group) => self.walk(group.stream()),
                TokenTree::Literal(literal) => {
                    self.literals.push((literal.span().start(), literal.span().end()))
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    /// Records the function head that starts here, if it is one; gives the number of tokens of its attributes.
    fn head(&mut self, tokens: &[TokenTree]) -> usize {
        let (mut test, mut ignored) = (false, false);
        let mut length = 0;
        while is_attribute(&tokens[length..]) {
            if let TokenTree::Group(group) = &tokens[length + 1] {
                match last_of_path(group.stream()).as_deref() {
                    Some("test") => test = true,
                    Some("ignore") => ignored = true,
                    _ => {}
                }
            }
            length += 2;
        }
        let keyword = tokens[length..].iter().take_while(|token| is_before_fn(token)).count() + length;
        if let Some(TokenTree::Ident(ident)) = tokens.get(keyword)
            && ident == "fn"
        {
            let (start, end) = (tokens[0].span().start(), ident.span().start());
            self.heads.push(Head { start, end, test, ignored });
        }
        length
    }

    fn is_inside_literal(&self, at: LineColumn) -> bool {
        self.literals.iter().any(|(start, end)| *start < at && at < *end)
    }

    fn owner(&self, at: LineColumn, lines: &[&str]) -> Owner {
        let Some(next) = self.starts.iter().find(|start| **start > at) else { return Owner::Other };
        let between = &lines[at.line..next.line.saturating_sub(1).max(at.line)];
        if !between.iter().all(|line| line.trim_start().starts_with("//")) {
            return Owner::Other;
        }
        match self.heads.iter().find(|head| head.start <= *next && *next <= head.end) {
            Some(Head { test: true, ignored: true, .. }) => Owner::Ignored,
            Some(Head { test: true, ignored: false, .. }) => Owner::Test,
            Some(Head { test: false, .. }) | None => Owner::Other,
        }
    }
}

/// Whether an outer attribute (a doc comment is one too) starts here.
fn is_attribute(tokens: &[TokenTree]) -> bool {
    match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(group), ..] => {
            hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket
        }
        _ => false,
    }
}

/// Whether a token can stand between the attributes and `fn`: a visibility or a qualifier.
fn is_before_fn(token: &TokenTree) -> bool {
    match token {
        TokenTree::Ident(ident) => {
            ["pub", "const", "async", "unsafe", "extern"].iter().any(|word| ident == word)
        }
        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
        TokenTree::Literal(_) => true,
        TokenTree::Punct(_) => false,
    }
}

/// The last name of the path that an attribute begins with: `test` of `tokio::test(flavor = "…")`.
fn last_of_path(stream: TokenStream) -> Option<String> {
    let mut last = None;
    for token in stream {
        match token {
            TokenTree::Ident(ident) => last = Some(ident.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            _ => break,
        }
    }
    last
}
