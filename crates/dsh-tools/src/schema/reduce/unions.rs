//! Schemas with alternatives: `allOf`, `anyOf`, arrays of types, `oneOf`.

use serde_json::Value;

use super::disjoint::disjoint;
use super::{Keywords, constraints};
use crate::schema::check::{ANNOTATIONS, Type};

/// Lifts a single schema into its place.
pub(super) fn all_of(keywords: &mut Keywords) -> Result<(), String> {
    let Some(parts) = keywords.shift_remove("allOf") else { return Ok(()) };
    match single(parts) {
        Ok(part) => lift(keywords, part),
        Err(_) => Err(".allOf cannot be expressed: write the fields out in one struct".to_owned()),
    }
}

/// Makes `oneOf` of alternatives of which no two accept one value.
pub(super) fn any_of(keywords: &mut Keywords) -> Result<(), String> {
    let Some(branches) = keywords.shift_remove("anyOf") else { return Ok(()) };
    let branches = match single(branches) {
        Ok(branch) => return lift(keywords, branch),
        Err(branches) => branches,
    };
    for (index, branch) in branches.iter().enumerate() {
        if let Some(other) = branches.iter().take(index).position(|other| !disjoint(other, branch)) {
            return Err(format!(
                ".anyOf cannot be expressed: one value may match both [{other}] and [{index}]; give the enum a tag"
            ));
        }
    }
    if keywords.contains_key("oneOf") {
        return Err(".anyOf beside oneOf cannot be expressed: give each enum a field of its own".to_owned());
    }
    keywords.insert("oneOf".to_owned(), Value::Array(branches));
    Ok(())
}

/// Makes `oneOf` of several types, each with the constraints that mean something on it.
pub(super) fn types(keywords: &mut Keywords) -> Result<(), String> {
    let Some(Value::Array(named)) = keywords.get("type") else { return Ok(()) };
    let mut named: Vec<(String, Type)> = named
        .iter()
        .filter_map(|name| Some((name.as_str()?.to_owned(), Type::named(name.as_str()?)?)))
        .collect();
    if named.iter().any(|(_, kind)| *kind == Type::Number) {
        named.retain(|(_, kind)| *kind != Type::Integer);
    }
    if let [(name, _)] = named.as_slice() {
        keywords.insert("type".to_owned(), Value::from(name.as_str()));
        return Ok(());
    }
    if keywords.contains_key("oneOf") {
        return Err(".type beside oneOf cannot be expressed: give the enum a field of its own".to_owned());
    }
    let branches = named.into_iter().filter_map(|(name, kind)| branch(keywords, &name, kind)).collect();
    keywords.retain(|keyword, _| ANNOTATIONS.contains(&keyword.as_str()));
    keywords.insert("oneOf".to_owned(), Value::Array(branches));
    Ok(())
}

/// The part of a schema that is about one type; `None` if its choices leave nothing of it.
fn branch(keywords: &Keywords, name: &str, kind: Type) -> Option<Value> {
    let mut branch = constraints(keywords);
    branch.insert("type".to_owned(), Value::from(name));
    if let Some(Value::Array(listed)) = branch.get_mut("enum") {
        listed.retain(|value| kind.is(value));
        if listed.is_empty() {
            return None;
        }
    }
    if branch.get("const").is_some_and(|only| !kind.is(only)) {
        return None;
    }
    if kind == Type::Null {
        branch.retain(|keyword, _| keyword == "type");
    }
    Some(Value::Object(branch))
}

/// Lifts a single branch, makes one `enum` of names, and refuses constraints beside the branches.
pub(super) fn one_of(keywords: &mut Keywords) -> Result<(), String> {
    let Some(branches) = keywords.shift_remove("oneOf") else { return Ok(()) };
    let branches = match single(branches) {
        Ok(branch) => return lift(keywords, branch),
        Err(branches) => branches,
    };
    if branches.is_empty() {
        return Err(" accepts nothing: an enum needs a variant".to_owned());
    }
    let beside = ["properties", "required", "additionalProperties", "items", "enum", "const"];
    if beside.iter().any(|keyword| keywords.contains_key(*keyword)) {
        return Err(
            " has fields beside an enum's variants: give the flattened enum a field of its own".to_owned()
        );
    }
    match names(keywords, &branches) {
        Some((listed, description)) => {
            keywords.insert("type".to_owned(), Value::from("string"));
            keywords.insert("enum".to_owned(), Value::Array(listed));
            if !description.is_empty() {
                keywords.insert("description".to_owned(), Value::from(description));
            }
        }
        None => {
            keywords.shift_remove("type");
            keywords.insert("oneOf".to_owned(), Value::Array(branches));
        }
    }
    Ok(())
}

/// The names that the branches allow, if they are nothing but names, with the description of the whole and of each.
fn names(keywords: &Keywords, branches: &[Value]) -> Option<(Vec<Value>, String)> {
    let mut listed: Vec<Value> = Vec::new();
    let mut lines: Vec<String> =
        keywords.get("description").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
    for branch in branches {
        let Value::Object(branch) = branch else { return None };
        if branch.get("type").and_then(Value::as_str) != Some("string") {
            return None;
        }
        let only = branch.get("const");
        let choices = branch.get("enum").and_then(Value::as_array);
        let added: Vec<&Value> = only.into_iter().chain(choices.into_iter().flatten()).collect();
        if added.is_empty() || !added.iter().all(|name| name.is_string()) {
            return None;
        }
        if let (Some(text), Some(name)) = (branch.get("description").and_then(Value::as_str), only) {
            lines.push(format!("{name}: {text}"));
        }
        listed.extend(added.into_iter().cloned());
    }
    Some((listed, lines.join("\n")))
}

/// Takes `null` from a schema, of a property that may be left out instead.
pub(super) fn without_null(keywords: &mut Keywords) {
    if let Some(Value::Array(named)) = keywords.get_mut("type") {
        named.retain(|name| name != "null");
        if let [name] = named.as_mut_slice() {
            let name = name.take();
            keywords.insert("type".to_owned(), name);
        }
        if let Some(Value::Array(listed)) = keywords.get_mut("enum") {
            listed.retain(|value| !value.is_null());
        }
    } else if let Some(Value::Array(branches)) = keywords.get_mut("anyOf")
        && branches.len() > 1
    {
        branches.retain(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
    } else {
        return;
    }
    if keywords.get("default").is_some_and(Value::is_null) {
        keywords.shift_remove("default");
    }
}

/// The one schema of a list, or the list.
fn single(schemas: Value) -> Result<Value, Vec<Value>> {
    let Value::Array(mut schemas) = schemas else { return Err(Vec::new()) };
    match schemas.pop() {
        Some(only) if schemas.is_empty() => Ok(only),
        last => {
            schemas.extend(last);
            Err(schemas)
        }
    }
}

/// Puts the keywords of an inner schema where it stood; the outer annotations are nearer to the field and win.
fn lift(keywords: &mut Keywords, inner: Value) -> Result<(), String> {
    let inner = match inner {
        Value::Object(inner) => inner,
        Value::Bool(true) => return Ok(()),
        _ => return Err(" accepts nothing: leave the field out of the type".to_owned()),
    };
    for (keyword, value) in inner {
        let outer = keywords.get(&keyword);
        if outer.is_none() {
            keywords.insert(keyword, value);
        } else if !ANNOTATIONS.contains(&keyword.as_str()) && outer != Some(&value) {
            return Err(format!(".{keyword} is constrained twice: write the fields out in one struct"));
        }
    }
    Ok(())
}
