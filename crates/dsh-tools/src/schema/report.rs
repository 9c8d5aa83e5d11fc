//! What is wrong with a value that is not accepted, in the order in which a reader would look.

use serde_json::{Map, Value};

use super::Schema;
use super::accept::accepts;
use super::check::Type;
use super::compile::{Node, NodeId, ObjectNode, ROOT};
use super::number::Numeric;
use super::path::{Path, Paths, Step};

/// What is still to be looked at; a stack, so the last comes first.
enum Task<'a> {
    Value(NodeId, &'a Value, Path),
    /// What follows the properties of a closed object.
    Undeclared(&'a ObjectNode, &'a Map<String, Value>, Path),
}

struct Report<'a> {
    nodes: &'a [Node],
    paths: Paths<'a>,
    open: Vec<Task<'a>>,
    found: Vec<String>,
}

pub(crate) fn violations(nodes: &[Node], root: &str, value: &Value) -> Vec<String> {
    let paths = Paths::new(if root == Schema::ARGUMENTS { "" } else { root });
    let open = vec![Task::Value(ROOT, value, paths.root())];
    let mut report = Report { nodes, paths, open, found: Vec::new() };
    while let Some(task) = report.open.pop() {
        match task {
            Task::Value(id, value, path) => report.value(id, value, path),
            Task::Undeclared(schema, members, path) => {
                for name in members.keys().filter(|name| schema.find(name, 0).is_none()) {
                    let place = report.below(path, name);
                    report.found.push(format!(
                        "\"{place}\" is not a declared property (additionalProperties: false)"
                    ));
                }
            }
        }
    }
    report.found
}

impl<'a> Report<'a> {
    fn must(&mut self, path: Path, what: &str) {
        let place = named(self.paths.text(path));
        self.found.push(format!("\"{place}\" must {what}"));
    }

    fn below(&mut self, path: Path, name: &'a str) -> String {
        let path = self.paths.key(path, name);
        named(self.paths.text(path))
    }

    fn value(&mut self, id: NodeId, value: &'a Value, path: Path) {
        match (self.nodes.get(id), value) {
            (None | Some(Node::Any), _) => {}
            (Some(Node::Scalar(kind, choices)), _) => {
                if !kind.is(value) {
                    self.must(path, expected(*kind, value));
                } else if let Some(expected) = choices.as_ref().and_then(|choices| choices.expected(value)) {
                    self.must(path, &format!("be {expected}"));
                }
            }
            (Some(Node::Array(schema)), Value::Array(items)) => {
                let Some(schema) = schema else { return };
                for (index, item) in items.iter().enumerate().rev() {
                    let path = self.paths.at(path, Step::Index(index));
                    self.open.push(Task::Value(*schema, item, path));
                }
            }
            (Some(Node::Object(schema)), Value::Object(members)) => self.object(schema, members, path),
            (Some(Node::Array(_)), _) => self.must(path, expected(Type::Array, value)),
            (Some(Node::Object(_)), _) => self.must(path, expected(Type::Object, value)),
            (Some(Node::OneOf(branches)), _) => {
                let matched = branches.iter().filter(|branch| accepts(self.nodes, **branch, value)).count();
                if matched != 1 {
                    self.must(path, &format!("match exactly one oneOf branch (matched {matched})"));
                }
            }
        }
    }

    fn object(&mut self, schema: &'a ObjectNode, members: &'a Map<String, Value>, path: Path) {
        for name in schema.required.iter().filter(|name| !members.contains_key(&***name)) {
            let place = self.below(path, name);
            self.found.push(format!("missing required property \"{place}\""));
        }
        if schema.closed {
            self.open.push(Task::Undeclared(schema, members, path));
        }
        for property in schema.properties.iter().rev() {
            if let Some(value) = members.get(&*property.name) {
                let path = self.paths.key(path, &property.name);
                self.open.push(Task::Value(property.node, value, path));
            }
        }
    }
}

/// The empty path is the arguments as a whole.
fn named(place: String) -> String {
    if place.is_empty() { Schema::ARGUMENTS.to_owned() } else { place }
}

fn expected(kind: Type, value: &Value) -> &'static str {
    match (kind, value) {
        (Type::Object, _) => "be an object",
        (Type::Array, _) => "be an array",
        (Type::String, _) => "be a string",
        (Type::Number, Value::Number(number)) if Numeric::of(number).is_none() => "be a finite JSON number",
        (Type::Number, _) => "be a number",
        (Type::Integer, _) => "be an integer",
        (Type::Boolean, _) => "be a boolean",
        (Type::Null, _) => "be null",
    }
}
