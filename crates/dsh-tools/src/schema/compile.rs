//! A checked schema in the form in which values are compared with it: nodes in one list, names at hand.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::check::{Type, same_scalar};
use super::number::{Numeric, scalar_text};

/// The place of a node in the list.
pub(crate) type NodeId = usize;

/// The node that stands for the whole schema.
pub(crate) const ROOT: NodeId = 0;

/// From how many properties on a name is looked up by its hash.
const HASHED_FROM: usize = 9;

/// One schema object.
pub(crate) enum Node {
    /// Nothing but annotations.
    Any,
    Scalar(Type, Option<Box<Choices>>),
    /// `None` where the items are unconstrained.
    Array(Option<NodeId>),
    Object(Box<ObjectNode>),
    OneOf(Box<[NodeId]>),
}

/// The values that `enum` and `const` leave.
pub(crate) struct Choices {
    listed: Option<Vec<Value>>,
    only: Option<Value>,
}

pub(crate) struct ObjectNode {
    /// In the schema's order.
    pub(crate) properties: Vec<Property>,
    /// In the order of `required`.
    pub(crate) required: Vec<Box<str>>,
    /// How many different properties are required.
    pub(crate) required_count: usize,
    /// Whether extras are refused.
    pub(crate) closed: bool,
    by_name: HashMap<Box<str>, usize>,
}

pub(crate) struct Property {
    pub(crate) name: Box<str>,
    pub(crate) node: NodeId,
    pub(crate) required: bool,
}

impl Choices {
    /// Whether a scalar of the right type is among the choices.
    pub(crate) fn accept(&self, value: &Value) -> bool {
        self.listed_accepts(value) && self.only_accepts(value)
    }

    /// What the value should have been, if it is none of the choices.
    pub(crate) fn expected(&self, value: &Value) -> Option<String> {
        if !self.listed_accepts(value) {
            let listed: Vec<String> = self.listed.iter().flatten().map(scalar_text).collect();
            return Some(format!("one of [{}]", listed.join(",")));
        }
        if self.only_accepts(value) { None } else { self.only.as_ref().map(scalar_text) }
    }

    fn listed_accepts(&self, value: &Value) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.iter().any(|choice| same_scalar(choice, value)))
    }

    fn only_accepts(&self, value: &Value) -> bool {
        self.only.as_ref().is_none_or(|only| same_scalar(only, value))
    }
}

impl ObjectNode {
    /// The place of a property. `hint` is where it would be if the value has the schema's order, as most have.
    pub(crate) fn find(&self, name: &str, hint: usize) -> Option<usize> {
        if self.properties.get(hint).is_some_and(|property| *property.name == *name) {
            return Some(hint);
        }
        if self.by_name.is_empty() {
            return self.properties.iter().position(|property| *property.name == *name);
        }
        self.by_name.get(name).copied()
    }
}

/// Whether a scalar has a type; for a number, also whether it is one.
pub(crate) fn fits(kind: Type, choices: Option<&Choices>, value: &Value) -> bool {
    match (kind, choices, value) {
        // Asked once for both: most numbers have no choices.
        (Type::Integer, None, Value::Number(number)) => Numeric::of(number).is_some_and(Numeric::is_integer),
        _ => kind.is(value) && choices.is_none_or(|choices| choices.accept(value)),
    }
}

/// Compiles a schema that [`check`](super::check) found nothing wrong with.
pub(crate) fn compile(schema: &Value) -> Vec<Node> {
    let mut open = vec![(schema, ROOT)];
    let mut nodes = vec![Node::Any];
    while let Some((schema, id)) = open.pop() {
        let Value::Object(schema) = schema else { continue };
        let mut below = |schema| {
            nodes.push(Node::Any);
            open.push((schema, nodes.len() - 1));
            nodes.len() - 1
        };
        let node = match schema.get("type").and_then(Value::as_str).and_then(Type::named) {
            None => match schema.get("oneOf") {
                Some(Value::Array(branches)) => Node::OneOf(branches.iter().map(below).collect()),
                _ => Node::Any,
            },
            Some(Type::Object) => Node::Object(Box::new(object(schema, below))),
            Some(Type::Array) => {
                let items = schema.get("items").filter(|items| !is_any(items));
                Node::Array(items.map(&mut below))
            }
            Some(kind) => Node::Scalar(kind, choices(schema)),
        };
        if let Some(place) = nodes.get_mut(id) {
            *place = node;
        }
    }
    nodes
}

fn is_any(schema: &Value) -> bool {
    schema.get("type").is_none() && schema.get("oneOf").is_none()
}

fn object<'a>(schema: &'a Map<String, Value>, mut below: impl FnMut(&'a Value) -> NodeId) -> ObjectNode {
    let required: Vec<Box<str>> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(Box::from)
        .collect();
    let distinct: HashSet<&str> = required.iter().map(AsRef::as_ref).collect();
    let properties: Vec<Property> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, schema)| Property {
            name: name.as_str().into(),
            node: below(schema),
            required: distinct.contains(name.as_str()),
        })
        .collect();
    let by_name = if properties.len() < HASHED_FROM {
        HashMap::new()
    } else {
        properties.iter().enumerate().map(|(index, property)| (property.name.clone(), index)).collect()
    };
    ObjectNode {
        required_count: distinct.len(),
        closed: schema.get("additionalProperties") == Some(&Value::Bool(false)),
        properties,
        required,
        by_name,
    }
}

fn choices(schema: &Map<String, Value>) -> Option<Box<Choices>> {
    let listed = schema.get("enum").and_then(Value::as_array).cloned();
    let only = schema.get("const").cloned();
    (listed.is_some() || only.is_some()).then(|| Box::new(Choices { listed, only }))
}
