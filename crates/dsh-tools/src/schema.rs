//! JSON schemas of the supported subset: checked once, compiled, and then asked about values.
//!
//! Reading order: `check` (what a schema may say), `compile` (its form for asking), `accept` (yes or no), `report` (what
//! is wrong), `declare` (the short form that authors write), `derive`, `limits` and `reduce` (schemas of Rust types).
//! `deep`, `number` and `path` serve them.
//!
//! **Architecture Invariant:** no walk over a schema or over a value recurses, so the depth of either is bounded by memory
//! and not by the stack. That holds for dropping too: see [`dismantle`].

mod accept;
mod check;
mod compile;
mod declare;
mod deep;
mod derive;
mod limits;
pub(crate) mod number;
pub(crate) mod path;
mod reduce;
mod report;

use std::fmt;
use std::sync::Arc;

use schemars::generate::Contract;
use serde_json::{Map, Value};
use thiserror::Error;

pub use declare::{compile_parameters, compile_value};
pub(crate) use deep::copy;
pub use deep::{dismantle, is_lossless};

use compile::Node;
pub(crate) use deep::Deep;

/// A schema of the supported subset, ready to be asked about values; cheap to clone.
///
/// The subset is `type` (one of seven), `oneOf`, `properties`, `required`, `additionalProperties` (a boolean), `items`,
/// `enum`, `const` and the annotations `description`, `title`, `default` and `examples`. Objects are open unless
/// `additionalProperties` is false; annotations change nothing.
///
/// Values are taken as lossless JSON, which [`parse_arguments`](crate::parse_arguments) ensures for what it reads and
/// [`is_lossless`] tells of any other value: what a schema leaves unconstrained is not looked at again. A number that a
/// schema does look at must be finite and not `-0`.
///
/// # Examples
/// ```
/// use dsh_tools::Schema;
/// use serde_json::json;
///
/// let schema = Schema::new(json!({
///     "type": "object",
///     "properties": { "path": { "type": "string" } },
///     "required": ["path"],
/// }))?;
/// assert!(schema.accepts(&json!({ "path": "a", "more": 1 })));
/// assert_eq!(schema.violations(Schema::ARGUMENTS, &json!({})), [r#"missing required property "path""#]);
/// # Ok::<_, dsh_tools::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Schema(Arc<Compiled>);

struct Compiled {
    raw: Arc<Value>,
    nodes: Vec<Node>,
}

/// Why a schema, a declaration or a type is refused: everything that is wrong with it, in the order of the walk.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unsupported JSON schema: {}", .violations.join("; "))]
pub struct SchemaError {
    violations: Vec<String>,
}

impl Schema {
    /// The root of arguments: paths begin with the property's name, and only the empty path is written out.
    pub const ARGUMENTS: &'static str = "arguments";
    /// The root of a tool's output, with which every path begins.
    pub const VALUE: &'static str = "value";

    /// Checks and compiles a schema.
    ///
    /// # Errors
    /// Lists everything outside of the subset, depth first; paths begin with `schema`.
    pub fn new(raw: Value) -> Result<Self, SchemaError> {
        let raw = Deep::new(raw);
        SchemaError::unless_empty(check::violations(&raw))?;
        let nodes = compile::compile(&raw);
        Ok(Self(Arc::new(Compiled { raw: Arc::new(raw.into_value()), nodes })))
    }

    /// The schema that accepts every value, `{}`.
    #[must_use]
    pub fn any() -> Self {
        Self(Arc::new(Compiled { raw: Arc::new(Value::Object(Map::new())), nodes: vec![Node::Any] }))
    }

    /// Derives the schema of a Rust type; [`read_arguments`](crate::read_arguments) reads what it accepts.
    ///
    /// Doc comments become descriptions, nested types are written out where they are used, and annotations outside of the
    /// subset are left out. So are the limits that a type has of itself, such as those of `u8`, `NonZeroU8`, `char`, an array
    /// or a set, because its reader checks them. Any other limit (`range`, `length`, `pattern`, `contains`, `email` or a
    /// keyword of JSON schema) is refused, since nobody would check it. An `Option` property is its inner
    /// schema and not required; an explicit `null` is refused there, since the schema does not offer it. Anywhere else an
    /// `Option` is `oneOf` its inner schema and `null`. An enum of names is a string with `enum`; other enums are `oneOf`. A
    /// tuple is an array, its items typed if one schema fits them all; the values of a map are left open.
    ///
    /// # Errors
    /// Names the place and a remedy of each limit that is not the type's own, and then of whatever else the subset has no
    /// words for: recursion, flattened enums, untagged enums of which two variants could accept one value. A limit in the
    /// very words of a type that has it of itself cannot be told from that type and goes unnoticed: `range(min = 1)` of an
    /// unsigned integer, `length(equal = 1)` of a string, `length(equal = 3)` of a list, the `format` of an address.
    pub fn of<T: schemars::JsonSchema>() -> Result<Self, SchemaError> {
        derive::schema(derive::generator(Contract::Deserialize).into_root_schema_for::<T>())
    }

    /// Derives the schema of what a Rust type is written as, as [`of`](Self::of) does of what it is read from: an `Option`
    /// property that is always written is required and may be `null`, one that can be skipped may be missing.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_written<T: schemars::JsonSchema>() -> Result<Self, SchemaError> {
        derive::schema(derive::generator(Contract::Serialize).into_root_schema_for::<T>())
    }

    /// The schema as it was given. Whoever keeps the `Arc` longer than the schema drops the value, see [`dismantle`].
    #[must_use]
    pub fn raw(&self) -> &Arc<Value> {
        &self.0.raw
    }

    /// Checks that the schema's root is of type `object`.
    ///
    /// # Errors
    /// The root has another type, or none.
    pub fn require_object_root(&self) -> Result<(), SchemaError> {
        match self.0.nodes.first() {
            Some(Node::Object(_)) => Ok(()),
            _ => Err(SchemaError::one(
                "schema.type must be \"object\": whoever uses this schema takes objects only".to_owned(),
            )),
        }
    }

    /// Everything about a value that the schema does not allow, or nothing.
    ///
    /// Inside of an object: first what is missing, then the properties in the schema's order with what is nested in
    /// them, then what is not declared. `root` is [`ARGUMENTS`](Self::ARGUMENTS), [`VALUE`](Self::VALUE) or another name.
    #[must_use]
    pub fn violations(&self, root: &str, value: &Value) -> Vec<String> {
        if self.accepts(value) { Vec::new() } else { report::violations(&self.0.nodes, root, value) }
    }

    /// Whether the value has no violation.
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        accept::accepts(&self.0.nodes, compile::ROOT, value)
    }
}

/// Whether a schema is of the supported subset.
pub(crate) fn is_supported(schema: &Value) -> bool {
    check::violations(schema).is_empty()
}

impl fmt::Debug for Schema {
    /// Not the schema itself, whose depth has no bound.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("nodes", &self.0.nodes.len()).finish_non_exhaustive()
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        if let Some(raw) = Arc::get_mut(&mut self.raw) {
            dismantle(std::mem::take(raw));
        }
    }
}

impl SchemaError {
    /// The kind's code.
    pub const CODE: &'static str = "UNSUPPORTED_SCHEMA";
    /// The kind's name.
    pub const NAME: &'static str = "JsonSchemaError";

    /// What is wrong; never empty.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    fn one(violation: String) -> Self {
        Self { violations: vec![violation] }
    }

    fn unless_empty(violations: Vec<String>) -> Result<(), Self> {
        if violations.is_empty() { Ok(()) } else { Err(Self { violations }) }
    }
}
