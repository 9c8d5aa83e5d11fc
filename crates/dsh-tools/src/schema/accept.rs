//! Whether a value is accepted: one pass over it, and no text made.

use serde_json::{Value, map};

use super::compile::{Node, NodeId, ObjectNode, fits};

/// A container whose members are being asked about.
enum Frame<'s, 'v> {
    Object { schema: &'s ObjectNode, members: map::Iter<'v>, hint: usize, required: usize },
    Array { items: std::slice::Iter<'v, Value>, schema: NodeId },
    OneOf { branches: std::slice::Iter<'s, NodeId>, value: &'v Value, matched: usize },
}

/// The answer about a value, or the container to look into for it.
enum Look<'s, 'v> {
    Is(bool),
    Into(Frame<'s, 'v>),
}

/// Whether a value matches a node.
pub(crate) fn accepts(nodes: &[Node], root: NodeId, value: &Value) -> bool {
    let mut current = match look(nodes, root, value) {
        Look::Is(answer) => return answer,
        Look::Into(frame) => frame,
    };
    let mut outer: Vec<Frame<'_, '_>> = Vec::new();
    loop {
        match current.advance(nodes) {
            Look::Into(frame) => outer.push(std::mem::replace(&mut current, frame)),
            Look::Is(mut answer) => loop {
                let Some(mut frame) = outer.pop() else { return answer };
                match frame.take(answer) {
                    Some(settled) => answer = settled,
                    None => {
                        current = frame;
                        break;
                    }
                }
            },
        }
    }
}

fn look<'s, 'v>(nodes: &'s [Node], id: NodeId, value: &'v Value) -> Look<'s, 'v> {
    match (nodes.get(id), value) {
        (None | Some(Node::Any), _) => Look::Is(true),
        (Some(Node::Scalar(kind, choices)), value) => Look::Is(fits(*kind, choices.as_deref(), value)),
        (Some(Node::OneOf(branches)), value) => {
            Look::Into(Frame::OneOf { branches: branches.iter(), value, matched: 0 })
        }
        (Some(Node::Array(None)), value) => Look::Is(value.is_array()),
        (Some(Node::Array(Some(schema))), Value::Array(items)) => {
            Look::Into(Frame::Array { items: items.iter(), schema: *schema })
        }
        (Some(Node::Object(schema)), Value::Object(members)) => {
            Look::Into(Frame::Object { schema, members: members.iter(), hint: 0, required: 0 })
        }
        (Some(Node::Array(_) | Node::Object(_)), _) => Look::Is(false),
    }
}

impl<'s, 'v> Frame<'s, 'v> {
    /// Goes on until a member is wrong, has to be looked into, or is the last.
    fn advance(&mut self, nodes: &'s [Node]) -> Look<'s, 'v> {
        match self {
            Self::Object { schema, members, hint, required } => {
                for (name, value) in members {
                    let Some(place) = schema.find(name, *hint) else {
                        if schema.closed {
                            return Look::Is(false);
                        }
                        continue;
                    };
                    *hint = place + 1;
                    let Some(property) = schema.properties.get(place) else { continue };
                    *required += usize::from(property.required);
                    match look(nodes, property.node, value) {
                        Look::Is(true) => {}
                        other => return other,
                    }
                }
                Look::Is(*required == schema.required_count)
            }
            Self::Array { items, schema } => {
                for value in items {
                    match look(nodes, *schema, value) {
                        Look::Is(true) => {}
                        other => return other,
                    }
                }
                Look::Is(true)
            }
            Self::OneOf { branches, value, matched } => {
                while *matched < 2 {
                    let Some(branch) = branches.next() else { break };
                    match look(nodes, *branch, value) {
                        Look::Is(answer) => *matched += usize::from(answer),
                        other => return other,
                    }
                }
                Look::Is(*matched == 1)
            }
        }
    }

    /// Takes the answer about what was looked into; gives an answer of its own if that settles it.
    fn take(&mut self, answer: bool) -> Option<bool> {
        match self {
            Self::Object { .. } | Self::Array { .. } => {
                if answer {
                    None
                } else {
                    Some(false)
                }
            }
            Self::OneOf { matched, .. } => {
                *matched += usize::from(answer);
                None
            }
        }
    }
}
