//! Types in Python, and the classes that they need.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};
use unicode_ident::is_xid_start;

use super::name::{Names, camel, is_field};
use super::visible;
use crate::schema::number::{self, Numeric};
use crate::sdk::text::{described, quoted};

/// How deep brackets go at most: Python reads no more than 200.
const DEEPEST: usize = 180;

/// The types of a set of tools.
#[derive(Default)]
pub(super) struct Types {
    names: Names,
    classes: String,
    uses: Uses,
}

/// What is imported besides `Protocol`.
#[derive(Default)]
struct Uses {
    any: bool,
    literal: bool,
    not_required: bool,
    typed_dict: bool,
}

/// What is still to be done; a stack, so the last comes first. The types that are done are a stack too.
enum Task<'a> {
    /// Make the type of a schema, in so many brackets; its class would be called like this.
    Type(&'a Value, String, usize),
    /// The last type becomes that of a list of it.
    List,
    /// The last so many types become one.
    Union(usize),
    /// The last types are those of the fields of a class.
    Class(String, &'a Map<String, Value>, &'a Value),
}

impl Types {
    /// The type of a schema; the class of its object is called after the tool.
    pub(super) fn of(&mut self, schema: Option<&Value>, tool: &str, suffix: &str) -> String {
        let Some(schema) = schema else { return self.any() };
        let words = camel(tool);
        let prefix = if words.starts_with(is_xid_start) { "" } else { "Tool" };
        let base = format!("{prefix}{words}{suffix}");
        let mut open = vec![Task::Type(schema, base, 0)];
        let mut done: Vec<String> = Vec::new();
        while let Some(task) = open.pop() {
            match task {
                Task::Type(schema, base, depth) => {
                    if let Some(text) = self.open(schema, base, depth, &mut open) {
                        done.push(text);
                    }
                }
                Task::List => {
                    let items = done.pop().unwrap_or_default();
                    done.push(format!("list[{items}]"));
                }
                Task::Union(count) => {
                    let branches = done.split_off(done.len().saturating_sub(count));
                    done.push(branches.join(" | "));
                }
                Task::Class(name, properties, schema) => {
                    let fields = done.split_off(done.len().saturating_sub(properties.len()));
                    self.class(&name, properties, schema, &fields);
                    done.push(name);
                }
            }
        }
        done.pop().unwrap_or_default()
    }

    /// The import of what the types use.
    pub(super) fn import(&self) -> String {
        let Uses { any, literal, not_required, typed_dict } = self.uses;
        let names = [
            ("Any", any),
            ("Literal", literal),
            ("NotRequired", not_required),
            ("Protocol", true),
            ("TypedDict", typed_dict),
        ];
        let used: Vec<&str> = names.into_iter().filter(|(_, used)| *used).map(|(name, _)| name).collect();
        format!("from typing import {}", used.join(", "))
    }

    /// The classes, each after those that it needs.
    pub(super) fn classes(&self) -> &str {
        &self.classes
    }

    fn any(&mut self) -> String {
        self.uses.any = true;
        "Any".to_owned()
    }

    /// The type of a schema, or what has to be done for it.
    fn open<'a>(
        &mut self,
        schema: &'a Value,
        base: String,
        depth: usize,
        open: &mut Vec<Task<'a>>,
    ) -> Option<String> {
        if let Some(branches) = schema.get("oneOf").and_then(Value::as_array) {
            open.push(Task::Union(branches.len()));
            let numbered = branches.iter().enumerate().rev();
            open.extend(
                numbered
                    .map(|(place, branch)| Task::Type(branch, short(&base, &(place + 1).to_string()), depth)),
            );
            return None;
        }
        let kind = schema.get("type").and_then(Value::as_str);
        let constant = schema.get("const").map(std::slice::from_ref);
        let choices = constant.or_else(|| schema.get("enum").and_then(Value::as_array).map(Vec::as_slice));
        Some(match (kind, choices) {
            (Some("null"), _) => "None".to_owned(),
            (Some(_), Some(choices)) => {
                self.uses.literal = true;
                let choices: Vec<String> = choices.iter().map(literal).collect();
                format!("Literal[{}]", choices.join(", "))
            }
            (Some("string"), None) => "str".to_owned(),
            (Some("number"), None) => "float".to_owned(),
            (Some("integer"), None) => "int".to_owned(),
            (Some("boolean"), None) => "bool".to_owned(),
            (Some("array"), None) if depth >= DEEPEST => self.any(),
            (Some("array"), None) => match schema.get("items") {
                None => format!("list[{}]", self.any()),
                Some(items) => {
                    open.extend([Task::List, Task::Type(items, base, depth + 1)]);
                    return None;
                }
            },
            (Some("object"), None) => return self.open_object(schema, &base, depth, open),
            _ => self.any(),
        })
    }

    fn open_object<'a>(
        &mut self,
        schema: &'a Value,
        base: &str,
        depth: usize,
        open: &mut Vec<Task<'a>>,
    ) -> Option<String> {
        static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&NONE);
        let bare = properties.is_empty() && is_open(schema);
        if bare || !properties.keys().all(|name| is_field(name)) {
            return Some(match depth >= DEEPEST {
                true => self.any(),
                false => format!("dict[str, {}]", self.any()),
            });
        }
        let name = self.names.take(base);
        let required = required(schema);
        open.push(Task::Class(name.clone(), properties, schema));
        for (field, property) in properties.iter().rev() {
            let depth = usize::from(!required.contains(field.as_str()));
            open.push(Task::Type(property, short(&name, &camel(field)), depth));
        }
        None
    }

    fn class(&mut self, name: &str, properties: &Map<String, Value>, schema: &Value, types: &[String]) {
        self.uses.typed_dict = true;
        let required = required(schema);
        let mut text = format!("class {name}(TypedDict):\n");
        for ((field, property), kind) in properties.iter().zip(types) {
            if let Some(description) = described(property) {
                text.push_str(&format!("    # {}\n", visible(&description)));
            }
            match required.contains(field.as_str()) {
                true => text.push_str(&format!("    {field}: {kind}\n")),
                false => {
                    self.uses.not_required = true;
                    text.push_str(&format!("    {field}: NotRequired[{kind}]\n"));
                }
            }
        }
        if is_open(schema) {
            text.push_str("    # Keys that are not declared here are allowed too.\n");
        }
        if properties.is_empty() {
            text.push_str("    pass\n");
        }
        text.push('\n');
        self.classes.push_str(&text);
    }
}

/// A name below another one. Only its beginning counts, so it does not grow with the depth.
fn short(base: &str, more: &str) -> String {
    base.chars().chain(more.chars()).take(256).collect()
}

fn is_open(schema: &Value) -> bool {
    schema.get("additionalProperties") != Some(&Value::Bool(false))
}

fn required(schema: &Value) -> HashSet<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null | Value::Array(_) | Value::Object(_) => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => digits(number),
        Value::String(text) => quoted(text),
    }
}

/// A number without loss: an integer with all of its digits, however it was written.
fn digits(number: &Number) -> String {
    match Numeric::of(number) {
        Some(Numeric::Whole(whole)) => whole.to_string(),
        Some(Numeric::Real(real)) if real.fract() == 0.0 => format!("{real:.0}"),
        Some(Numeric::Real(_)) | None => number::text(number),
    }
}
