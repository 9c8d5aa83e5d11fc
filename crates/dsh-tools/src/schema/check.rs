//! The check of a schema: everything in it that is outside of the supported subset.

use serde_json::{Map, Value};

use super::deep::is_lossless;
use super::number::Numeric;
use super::path::{Path, Paths, Step};

/// The keywords that constrain nothing.
pub(crate) const ANNOTATIONS: [&str; 4] = ["description", "title", "default", "examples"];

/// The keywords that only mean something beside a `type`.
pub(crate) const CONSTRAINTS: [&str; 6] =
    ["properties", "required", "additionalProperties", "items", "enum", "const"];

/// The types that a schema can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Number,
    Integer,
    Boolean,
    Null,
}

impl Type {
    pub(crate) const ALL: [(&'static str, Self); 7] = [
        ("object", Self::Object),
        ("array", Self::Array),
        ("string", Self::String),
        ("number", Self::Number),
        ("integer", Self::Integer),
        ("boolean", Self::Boolean),
        ("null", Self::Null),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Whether a constraint means something on this type.
    pub(crate) fn takes(self, constraint: &str) -> bool {
        match constraint {
            "properties" | "required" | "additionalProperties" => self == Self::Object,
            "items" => self == Self::Array,
            _ => !matches!(self, Self::Object | Self::Array),
        }
    }

    /// Whether a scalar is a value of this type.
    pub(crate) fn is(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Number, Value::Number(number)) => Numeric::of(number).is_some(),
            (Self::Integer, Value::Number(number)) => Numeric::of(number).is_some_and(Numeric::is_integer),
            (Self::String, Value::String(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Null, Value::Null)
            | (Self::Object, Value::Object(_))
            | (Self::Array, Value::Array(_)) => true,
            _ => false,
        }
    }
}

/// What is still to be looked at; a stack, so the last comes first.
enum Task<'a> {
    Schema(&'a Value, Path),
    /// What follows the branches of a `oneOf`.
    BesideOneOf(&'a Map<String, Value>, Path),
    /// What follows the properties of an object.
    AfterProperties(&'a Map<String, Value>, Path),
}

struct Check<'a> {
    paths: Paths<'a>,
    open: Vec<Task<'a>>,
    found: Vec<String>,
}

/// Everything that is wrong with a schema.
pub(crate) fn violations(schema: &Value) -> Vec<String> {
    let paths = Paths::new("schema");
    let open = vec![Task::Schema(schema, paths.root())];
    let mut check = Check { paths, open, found: Vec::new() };
    while let Some(task) = check.open.pop() {
        match task {
            Task::Schema(schema, path) => check.schema(schema, path),
            Task::BesideOneOf(schema, path) => {
                for keyword in CONSTRAINTS.into_iter().filter(|keyword| schema.contains_key(*keyword)) {
                    check.at(path, &format!(".{keyword} is not supported beside oneOf"));
                }
            }
            Task::AfterProperties(schema, path) => check.after_properties(schema, path),
        }
    }
    check.found
}

impl<'a> Check<'a> {
    fn at(&mut self, path: Path, rest: &str) {
        self.found.push(format!("{}{rest}", self.paths.text(path)));
    }

    fn schema(&mut self, schema: &'a Value, path: Path) {
        let Value::Object(schema) = schema else { return self.at(path, " must be a schema object") };
        self.keywords(schema, path);
        match (schema.get("type"), schema.get("oneOf")) {
            (Some(_), Some(_)) => self.at(path, " cannot declare both type and oneOf"),
            (None, None) => {
                for keyword in CONSTRAINTS.into_iter().filter(|keyword| schema.contains_key(*keyword)) {
                    self.at(path, &format!(".{keyword} requires type or oneOf"));
                }
            }
            (None, Some(branches)) => self.one_of(schema, branches, path),
            (Some(kind), None) => self.typed(schema, kind, path),
        }
    }

    fn keywords(&mut self, schema: &'a Map<String, Value>, path: Path) {
        for (keyword, value) in schema {
            if ANNOTATIONS.contains(&keyword.as_str()) {
                if !is_lossless(value) {
                    self.at(path, &format!(".{keyword} annotation must be lossless JSON data"));
                }
            } else if !CONSTRAINTS.contains(&keyword.as_str()) && keyword != "type" && keyword != "oneOf" {
                self.at(
                    path,
                    &format!(
                        ".{keyword} is outside of the supported keywords: type, oneOf, properties, required, \
                         additionalProperties, items, enum, const and the annotations description, title, default \
                         and examples"
                    ),
                );
            }
        }
        for keyword in ["description", "title"] {
            if schema.get(keyword).is_some_and(|text| !text.is_string()) {
                self.at(path, &format!(".{keyword} must be a string"));
            }
        }
    }

    fn one_of(&mut self, schema: &'a Map<String, Value>, branches: &'a Value, path: Path) {
        self.open.push(Task::BesideOneOf(schema, path));
        match branches.as_array() {
            Some(branches) if branches.len() >= 2 => {
                let one_of = self.paths.key(path, "oneOf");
                for (index, branch) in branches.iter().enumerate().rev() {
                    let path = self.paths.at(one_of, Step::Index(index));
                    self.open.push(Task::Schema(branch, path));
                }
            }
            _ => self.at(path, ".oneOf must be an array of two or more schemas"),
        }
    }

    fn typed(&mut self, schema: &'a Map<String, Value>, kind: &'a Value, path: Path) {
        if kind.is_array() {
            return self.at(path, ".type must name one type: arrays of types are not supported, oneOf is");
        }
        let named = kind.as_str().and_then(|name| Some((name, Type::named(name)?)));
        let Some((name, kind)) = named else {
            return self.at(path, ".type must be one of object/array/string/number/integer/boolean/null");
        };
        for keyword in CONSTRAINTS.into_iter().filter(|keyword| schema.contains_key(*keyword)) {
            if !kind.takes(keyword) {
                self.at(path, &format!(".{keyword} is not supported on type \"{name}\""));
            }
        }
        match kind {
            Type::Object => self.object(schema, path),
            Type::Array => {
                if let Some(items) = schema.get("items") {
                    let path = self.paths.key(path, "items");
                    self.open.push(Task::Schema(items, path));
                }
            }
            Type::String | Type::Number | Type::Integer | Type::Boolean | Type::Null => {
                self.choices(schema, name, kind, path);
            }
        }
    }

    fn object(&mut self, schema: &'a Map<String, Value>, path: Path) {
        self.open.push(Task::AfterProperties(schema, path));
        match schema.get("properties") {
            None => {}
            Some(Value::Object(properties)) => {
                let below = self.paths.key(path, "properties");
                for (name, property) in properties.iter().rev() {
                    let path = self.paths.key(below, name);
                    self.open.push(Task::Schema(property, path));
                }
            }
            Some(_) => self.at(path, ".properties must be an object of schemas"),
        }
    }

    fn after_properties(&mut self, schema: &'a Map<String, Value>, path: Path) {
        match schema.get("required") {
            None => {}
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                let properties = schema.get("properties").and_then(Value::as_object);
                for name in names.iter().filter_map(Value::as_str) {
                    if !properties.is_some_and(|properties| properties.contains_key(name)) {
                        self.at(path, &format!(".required names \"{name}\" which is not in properties"));
                    }
                }
            }
            Some(_) => self.at(path, ".required must be an array of strings"),
        }
        if schema.get("additionalProperties").is_some_and(|closed| !closed.is_boolean()) {
            self.at(path, ".additionalProperties must be a boolean");
        }
    }

    fn choices(&mut self, schema: &'a Map<String, Value>, name: &str, kind: Type, path: Path) {
        let choices = schema.get("enum");
        let listed = choices.and_then(Value::as_array);
        let good = listed.filter(|listed| !listed.is_empty() && listed.iter().all(|value| kind.is(value)));
        if choices.is_some() && good.is_none() {
            self.at(path, &format!(".enum must be a non-empty array of {name} values"));
        }
        let Some(only) = schema.get("const") else { return };
        if !kind.is(only) {
            self.at(path, &format!(".const must be a {name} value"));
        } else if good.is_some_and(|listed| !listed.iter().any(|value| same_scalar(value, only))) {
            let place = self.paths.text(path);
            self.found.push(format!("{place}.const must be among the values of {place}.enum"));
        }
    }
}

/// Whether two scalars are equal; numbers are compared by value.
pub(crate) fn same_scalar(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => Numeric::of(one) == Numeric::of(other),
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
        (one, other) => one == other,
    }
}
