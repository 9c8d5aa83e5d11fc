//! The grammar of templates: `{{name}}` stands for a variable.

use std::collections::BTreeMap;

use crate::render::RenderFailure;

/// Whether variables can have this name: `[a-z][a-z0-9_]*`.
#[must_use]
pub fn is_variable_name(name: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(rest)
}

/// Puts values in the place of variables. Values are not looked at again; there is no escape. Braces that are closed
/// nowhere are text.
pub(crate) fn interpolate(
    template: &str,
    variables: &BTreeMap<String, Option<String>>,
) -> Result<String, RenderFailure> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, opened)) = rest.split_once("{{") {
        text.push_str(before);
        let inner = opened.find(['{', '}']).map(|end| opened.split_at(end));
        let Some((name, after)) = inner.and_then(|(name, end)| Some((name, end.strip_prefix("}}")?))) else {
            if opened.contains("}}") {
                return Err(RenderFailure::Malformed { at: template.len() - opened.len() - 2 });
            }
            // Nothing closes braces from here on, so no more of them open a variable.
            text.push_str("{{");
            rest = opened;
            break;
        };
        if !is_variable_name(name) {
            return Err(RenderFailure::Malformed { at: template.len() - opened.len() - 2 });
        }
        match variables.get(name) {
            Some(Some(value)) => text.push_str(value),
            Some(None) => return Err(RenderFailure::NoValue { variable: name.to_owned() }),
            None => {
                let registered = variables.keys().cloned().collect();
                return Err(RenderFailure::Unknown { variable: name.to_owned(), registered });
            }
        }
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}
