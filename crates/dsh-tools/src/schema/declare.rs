//! The short form in which authors declare parameters, and its translation into a schema.

use serde_json::{Map, Value};

use super::SchemaError;
use super::check::{self, ANNOTATIONS};
use super::deep::{copy, dismantle};
use super::path::{Path, Paths, Step};

const SCALARS: [&str; 5] = ["string", "number", "integer", "boolean", "null"];

/// Translates the declaration of one value.
///
/// A declaration is an object. Its `type` is `string`, `number`, `integer`, `boolean` or `null`, each with optional
/// `enum` and `const`; `array` with optional `items`; `object` with a boolean `additionalProperties` that must be there and
/// optional `properties`; or `json` for any value. In place of `type` it may have `oneOf` with two branches or more. The
/// annotations `description`, `title`, `default` and `examples` may stand anywhere, and `required: true` on a property.
///
/// # Errors
/// The first thing that is no declaration, or everything that [`Schema::new`](crate::Schema::new) refuses in the
/// result.
pub fn compile_value(declaration: &Value) -> Result<Value, SchemaError> {
    let mut compiler = Compiler { paths: Paths::new("schema"), open: Vec::new() };
    let root = compiler.paths.root();
    let schema = compiler.run(|it| it.begin(declaration, root, Place::Value))?;
    checked(schema)
}

/// Translates the declarations of a tool's parameters, an object from name to declaration, into an open object.
///
/// `required` lists the names in the order of the declarations and is left out if there are none. For the declarations see
/// [`compile_value`].
///
/// # Errors
/// As [`compile_value`].
///
/// # Examples
/// ```
/// use serde_json::json;
///
/// let schema = dsh_tools::compile_parameters(&json!({ "path": { "type": "string", "required": true } }))?;
/// assert_eq!(
///     schema,
///     json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] }),
/// );
/// # Ok::<_, dsh_tools::SchemaError>(())
/// ```
pub fn compile_parameters(declarations: &Value) -> Result<Value, SchemaError> {
    let mut compiler = Compiler { paths: Paths::new("parameters"), open: Vec::new() };
    let root = compiler.paths.root();
    let schema = compiler.run(|it| {
        let schema = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        it.properties(schema, declarations, root)
    })?;
    checked(schema)
}

fn checked(schema: Value) -> Result<Value, SchemaError> {
    match SchemaError::unless_empty(check::violations(&schema)) {
        Ok(()) => Ok(schema),
        Err(error) => {
            dismantle(schema);
            Err(error)
        }
    }
}

/// Where a declaration stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Property,
    Value,
}

/// A schema that waits for the ones inside of it.
enum Frame<'a> {
    Properties {
        schema: Map<String, Value>,
        left: serde_json::map::Iter<'a>,
        place: Path,
        name: &'a str,
        done: Map<String, Value>,
        required: Vec<Value>,
    },
    Items {
        schema: Map<String, Value>,
        items: Option<(&'a Value, Path)>,
        done: Option<Value>,
    },
    OneOf {
        left: std::iter::Enumerate<std::slice::Iter<'a, Value>>,
        place: Path,
        done: Vec<Value>,
        annotations: Map<String, Value>,
    },
}

/// A declaration that was begun: either all of its schema, or one that waits.
type Begun = Result<Option<Value>, SchemaError>;

struct Compiler<'a> {
    paths: Paths<'a>,
    open: Vec<Frame<'a>>,
}

impl<'a> Compiler<'a> {
    fn run(&mut self, begin: impl FnOnce(&mut Self) -> Begun) -> Result<Value, SchemaError> {
        let mut finished = begin(self)?;
        loop {
            let Some(mut frame) = self.open.pop() else { return Ok(finished.unwrap_or_default()) };
            if let Some(schema) = finished.take() {
                frame.take(schema);
            }
            match frame.next(&mut self.paths) {
                None => finished = Some(frame.finish()),
                Some((declaration, path, place)) => {
                    self.open.push(frame);
                    finished = self.begin(declaration, path, place)?;
                }
            }
        }
    }

    fn refuse<T>(&self, path: Path, rest: &str) -> Result<T, SchemaError> {
        Err(SchemaError::one(format!("{}{rest}", self.paths.text(path))))
    }

    fn begin(&mut self, declaration: &'a Value, path: Path, place: Place) -> Begun {
        let Value::Object(declaration) = declaration else {
            return self.refuse(path, " must be a value schema object");
        };
        if place == Place::Property && declaration.get("required").is_some_and(|it| *it != Value::Bool(true))
        {
            return self.refuse(path, ".required must be true when present");
        }
        if let Some(branches) = declaration.get("oneOf") {
            if declaration.contains_key("type") {
                return self.refuse(path, " cannot declare both type and oneOf");
            }
            self.only(declaration, path, place, &["oneOf"])?;
            let Value::Array(branches) = branches else {
                return self.refuse(path, ".oneOf must be an array of two or more value schemas");
            };
            let place = self.paths.key(path, "oneOf");
            let annotations = annotations(declaration);
            let left = branches.iter().enumerate();
            self.open.push(Frame::OneOf {
                left,
                place,
                done: Vec::with_capacity(branches.len()),
                annotations,
            });
            return Ok(None);
        }
        let kind = declaration.get("type").and_then(Value::as_str).unwrap_or_default();
        let allowed: &[&str] = match kind {
            "json" => &["type"],
            "array" => &["type", "items"],
            "object" => &["type", "additionalProperties", "properties"],
            scalar if SCALARS.contains(&scalar) => &["type", "enum", "const"],
            _ => {
                return self.refuse(
                    path,
                    ".type must be string/number/integer/boolean/null/array/object/json, or oneOf for alternatives",
                );
            }
        };
        self.only(declaration, path, place, allowed)?;
        match kind {
            "json" => Ok(Some(Value::Object(annotations(declaration)))),
            "array" => {
                let items = declaration.get("items").map(|items| (items, self.paths.key(path, "items")));
                self.open.push(Frame::Items { schema: typed(kind, declaration), items, done: None });
                Ok(None)
            }
            "object" => self.object(declaration, path),
            _ => {
                if declaration.get("enum").is_some_and(|choices| !choices.is_array()) {
                    return self.refuse(path, ".enum must be a non-empty array of scalar values");
                }
                let mut schema = typed(kind, declaration);
                copy_keywords(&mut schema, declaration, &["enum", "const"]);
                Ok(Some(Value::Object(schema)))
            }
        }
    }

    fn object(&mut self, declaration: &'a Map<String, Value>, path: Path) -> Begun {
        let Some(open @ Value::Bool(_)) = declaration.get("additionalProperties") else {
            return self.refuse(path, ".additionalProperties must be explicitly true or false");
        };
        let mut schema = typed("object", declaration);
        schema.insert("additionalProperties".to_owned(), open.clone());
        match declaration.get("properties") {
            None => Ok(Some(Value::Object(schema))),
            Some(properties) => {
                let path = self.paths.key(path, "properties");
                self.properties(schema, properties, path)
            }
        }
    }

    fn properties(&mut self, schema: Map<String, Value>, declarations: &'a Value, path: Path) -> Begun {
        let Value::Object(declarations) = declarations else {
            dismantle(Value::Object(schema));
            return self.refuse(path, " must be an object of value schemas");
        };
        self.open.push(Frame::Properties {
            schema,
            left: declarations.iter(),
            place: path,
            name: "",
            done: Map::new(),
            required: Vec::new(),
        });
        Ok(None)
    }

    /// Refuses every key but the annotations, `allowed`, and `required` on a property.
    fn only(
        &self,
        declaration: &Map<String, Value>,
        path: Path,
        place: Place,
        allowed: &[&str],
    ) -> Result<(), SchemaError> {
        let known = |key: &&str| {
            ANNOTATIONS.contains(key)
                || allowed.contains(key)
                || (place == Place::Property && *key == "required")
        };
        let stranger = declaration.keys().map(String::as_str).find(|key| !known(key));
        match stranger {
            None => Ok(()),
            Some(key) => self.refuse(path, &format!(".{key} is not supported by the value schema DSL")),
        }
    }
}

impl Drop for Compiler<'_> {
    /// A failed translation leaves schemas of any depth behind.
    fn drop(&mut self) {
        for frame in self.open.drain(..) {
            dismantle(frame.finish());
        }
    }
}

impl<'a> Frame<'a> {
    /// The next declaration inside of this one.
    fn next(&mut self, paths: &mut Paths<'a>) -> Option<(&'a Value, Path, Place)> {
        match self {
            Self::Properties { left, place, name, required, .. } => {
                let (next, declaration) = left.next()?;
                *name = next;
                if declaration.get("required").is_some() {
                    required.push(Value::from(next.as_str()));
                }
                Some((declaration, paths.key(*place, next), Place::Property))
            }
            Self::Items { items, .. } => items.take().map(|(items, path)| (items, path, Place::Value)),
            Self::OneOf { left, place, .. } => {
                let (index, branch) = left.next()?;
                Some((branch, paths.at(*place, Step::Index(index)), Place::Value))
            }
        }
    }

    /// Takes the schema of the last declaration that [`next`](Self::next) gave.
    fn take(&mut self, inner: Value) {
        match self {
            Self::Properties { name, done, .. } => {
                done.insert((*name).to_owned(), inner);
            }
            Self::Items { done, .. } => *done = Some(inner),
            Self::OneOf { done, .. } => done.push(inner),
        }
    }

    fn finish(self) -> Value {
        Value::Object(match self {
            Self::Properties { mut schema, done, required, .. } => {
                schema.insert("properties".to_owned(), Value::Object(done));
                if !required.is_empty() {
                    schema.insert("required".to_owned(), Value::Array(required));
                }
                schema
            }
            Self::Items { mut schema, done, .. } => {
                if let Some(items) = done {
                    schema.insert("items".to_owned(), items);
                }
                schema
            }
            Self::OneOf { done, mut annotations, .. } => {
                let mut schema = Map::from_iter([("oneOf".to_owned(), Value::Array(done))]);
                schema.append(&mut annotations);
                schema
            }
        })
    }
}

/// The type and the annotations.
fn typed(kind: &str, declaration: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    copy_keywords(&mut schema, declaration, &ANNOTATIONS);
    schema
}

fn annotations(declaration: &Map<String, Value>) -> Map<String, Value> {
    let mut annotations = Map::new();
    copy_keywords(&mut annotations, declaration, &ANNOTATIONS);
    annotations
}

fn copy_keywords(schema: &mut Map<String, Value>, declaration: &Map<String, Value>, keywords: &[&str]) {
    for keyword in keywords {
        if let Some(value) = declaration.get(*keyword) {
            schema.insert((*keyword).to_owned(), copy(value));
        }
    }
}
