//! Reading a `keys.rs`: the typed constants and what their types and docs say.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, ExprCall, ExprMethodCall, GenericArgument, Item, ItemConst, Lit, Type, Visibility,
};

/// One declared key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyEntry {
    /// Where users find the constant: `dsh_tools::EXECUTE`, `cordis::keys::STATUS`.
    pub constant: String,
    /// The string that identifies it at run time: `tools/execute`.
    pub name: String,
    /// What it is a key of.
    pub kind: Kind,
    /// The closure that gives a dispatch's scope, where it has one.
    pub subject: Option<String>,
    /// The first paragraph of its doc comment on one line; empty without one.
    pub doc: String,
}

/// What a key is a key of; the texts are types as written in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// An event with its dispatch mode.
    Event {
        /// `Emit`, `Waterfall`, …
        mode: String,
        /// What listeners get.
        payload: String,
        /// What a dispatch gives back, for the modes that have a result.
        result: Option<String>,
    },
    /// A service of this type.
    Service(String),
    /// An intercept with this configuration.
    Intercept(String),
}

/// Whether a `lib.rs` makes its module `keys` public; a private one is re-exported at the crate's root.
///
/// # Errors
/// When the file is not Rust.
pub fn are_public(lib: &str) -> Result<bool> {
    let file =
        syn::parse_file(lib).map_err(|error| anyhow!("line {}: {error}", error.span().start().line))?;
    Ok(file.items.iter().any(|item| match item {
        Item::Mod(module) => module.ident == "keys" && is_public(&module.vis),
        _ => false,
    }))
}

/// Finds the public keys of a `keys.rs` in source order, inline modules included.
///
/// # Errors
/// When the file is not Rust, or when a constant has a key's type but not its form, `X::new("name")`.
pub fn parse(library: &str, source: &str) -> Result<Vec<KeyEntry>> {
    let file =
        syn::parse_file(source).map_err(|error| anyhow!("line {}: {error}", error.span().start().line))?;
    let mut keys = Vec::new();
    collect(library, &file.items, &mut keys)?;
    Ok(keys)
}

fn collect(path: &str, items: &[Item], keys: &mut Vec<KeyEntry>) -> Result<()> {
    for item in items {
        match item {
            Item::Const(constant) if is_public(&constant.vis) => keys.extend(key(path, constant)?),
            Item::Mod(module) if is_public(&module.vis) => {
                if let Some((_, items)) = &module.content {
                    collect(&format!("{path}::{}", module.ident), items, keys)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The entry of a constant; none when its type is not a key's.
fn key(path: &str, constant: &ItemConst) -> Result<Option<KeyEntry>> {
    let Some(kind) = kind(&constant.ty) else { return Ok(None) };
    let declared = Declaration::read(&constant.expr).with_context(|| {
        format!("line {}: the key {}", constant.ident.span().start().line, constant.ident)
    })?;
    Ok(Some(KeyEntry {
        constant: format!("{path}::{}", constant.ident),
        name: declared.name,
        kind,
        subject: declared.subject,
        doc: first_paragraph(&constant.attrs),
    }))
}

fn kind(ty: &Type) -> Option<Kind> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(generics) = &last.arguments else { return None };
    let mut types = generics.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(text_of(ty)),
        _ => None,
    });
    let first = types.next()?;
    let mode = last.ident.to_string();
    Some(match mode.as_str() {
        "Key" => Kind::Service(first),
        "Intercept" => Kind::Intercept(first),
        "Emit" | "Announce" | "Parallel" => Kind::Event { mode, payload: first, result: None },
        "Serial" | "Bail" | "Waterfall" => Kind::Event { mode, payload: first, result: types.next() },
        _ => return None,
    })
}

/// What the initialiser of a key says.
struct Declaration {
    name: String,
    subject: Option<String>,
}

impl Declaration {
    fn read(expr: &Expr) -> Result<Self> {
        let mut subject = None;
        let mut expr = expr;
        while let Expr::MethodCall(call) = expr {
            if call.method == "scoped_by" {
                subject = Some(only_argument(call)?);
            }
            expr = &call.receiver;
        }
        let Expr::Call(ExprCall { args, .. }) = expr else {
            bail!("does not start with a call: write `X::new(\"name\")`")
        };
        match args.first() {
            Some(Expr::Lit(literal)) => match &literal.lit {
                Lit::Str(name) => Ok(Self { name: name.value(), subject }),
                _ => bail!("has a name that is not a string"),
            },
            _ => bail!("has no literal name: write `X::new(\"name\")`"),
        }
    }
}

fn only_argument(call: &ExprMethodCall) -> Result<String> {
    ensure!(call.args.len() == 1, "`.scoped_by(..)` takes one closure");
    Ok(call.args.first().map(text_of).unwrap_or_default())
}

/// The source text of a node on one line.
fn text_of(node: &impl Spanned) -> String {
    let text = node.span().source_text().unwrap_or_default();
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // What rustfmt adds when it breaks a list over lines.
    for (broken, joined) in [("< ", "<"), (", >", ">"), ("( ", "("), (", )", ")"), (" .", ".")] {
        line = line.replace(broken, joined);
    }
    line
}

fn first_paragraph(attributes: &[Attribute]) -> String {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let syn::Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(literal) = &pair.value else { continue };
        let Lit::Str(text) = &literal.lit else { continue };
        // A block comment is one attribute of many lines.
        for line in text.value().split('\n') {
            if line.trim().is_empty() {
                if words.is_empty() {
                    continue;
                }
                return words.join(" ");
            }
            words.push(line.trim().to_owned());
        }
    }
    words.join(" ")
}
