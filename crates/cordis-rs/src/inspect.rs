//! The tree of fibers, effects, services and needs, as data.

use crate::{
    Context, FiberId, State,
    effect::{Record, Undo},
    fibers::{Data, Fibers},
};
use serde::Serialize;
use std::{collections::HashMap, fmt, ops::Deref};

/// What an app consists of at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The fiber that was asked for, with everything below it.
    pub fiber: FiberNode,
}

/// A fiber.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FiberNode {
    /// Its name.
    pub name: String,
    /// Its number.
    pub uid: u64,
    /// Where it stands.
    pub state: State,
    /// Why it failed last.
    pub error: Option<String>,
    /// What its plugin needs.
    pub needs: Vec<NeedNode>,
    /// What it provides.
    pub provides: Vec<String>,
    /// Its registrations in order; child plugins are among them.
    pub effects: Vec<EffectNode>,
    /// What it waits for at the moment, when it loads or unloads.
    pub waiting_for: Option<String>,
}

/// A declared need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NeedNode {
    /// The key's name.
    pub service: String,
    /// Whether the plugin starts without it.
    pub optional: bool,
    /// Who provides it at the moment, as `name#uid`.
    pub provider: Option<String>,
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EffectNode {
    /// What it is called.
    pub label: String,
    /// Whether it is being undone.
    pub undoing: bool,
    /// The effects that it is made of.
    pub children: Vec<EffectNode>,
    /// The plugin that it mounted.
    pub fiber: Option<Below>,
}

impl Context {
    /// Everything below this context's fiber. Costs as much as there is; meant for people and tests.
    #[must_use]
    pub fn inspect(&self) -> Inspection {
        let fibers = self.shared().fibers.lock();
        Inspection { fiber: tree(&fibers, self.cell().id, self) }
    }
}

/// Builds the tree without recursion over fibers: children have higher numbers than their parents, so the nodes are made
/// from the youngest to the oldest.
fn tree(fibers: &Fibers, root: FiberId, ctx: &Context) -> FiberNode {
    let mut below: Vec<&Data> = Vec::new();
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        let Some(data) = fibers.get(id) else { continue };
        below.push(data);
        todo.extend(data.records().filter_map(|(_, record)| child(record)));
    }
    below.sort_by_key(|data| std::cmp::Reverse(data.cell.uid));
    let mut made: HashMap<FiberId, FiberNode> = HashMap::new();
    for data in below {
        let node = node(fibers, data, &mut made);
        made.insert(data.cell.id, node);
    }
    made.remove(&root).unwrap_or_else(|| FiberNode {
        name: ctx.cell().name.to_string(),
        uid: ctx.cell().uid,
        state: ctx.cell().state(),
        error: ctx.cell().error_text(),
        needs: Vec::new(),
        provides: Vec::new(),
        effects: Vec::new(),
        waiting_for: None,
    })
}

fn child(record: &Record) -> Option<FiberId> {
    match record.undo {
        Undo::Child(id) => Some(id),
        _ => None,
    }
}

fn node(fibers: &Fibers, data: &Data, made: &mut HashMap<FiberId, FiberNode>) -> FiberNode {
    let needs = data.needs.iter().map(|need| NeedNode {
        service: need.slot.name().to_owned(),
        optional: need.optional,
        provider: fibers.provider(need.slot.id()).map(|provided| provided.owner().label()),
    });
    let provides = data.services().iter().map(|provided| provided.slot().name().to_owned()).collect();
    FiberNode {
        name: data.cell.name.to_string(),
        uid: data.cell.uid,
        state: data.state(),
        error: data.cell.error_text(),
        needs: needs.collect(),
        provides,
        effects: effects(data, made),
        waiting_for: waiting_for(data),
    }
}

/// The effects as trees: parts follow what they are part of, so they are hung up from the newest to the oldest.
fn effects(data: &Data, made: &mut HashMap<FiberId, FiberNode>) -> Vec<EffectNode> {
    let mut parts: HashMap<u64, Vec<EffectNode>> = HashMap::new();
    let mut records: Vec<(u64, &Record)> = data.records().collect();
    records.sort_by_key(|(id, _)| *id);
    for (id, record) in records.into_iter().rev().filter(|(_, record)| !record.label.is_over()) {
        let mut children = parts.remove(&id).unwrap_or_default();
        children.reverse();
        let node = EffectNode {
            label: record.label.to_string(),
            undoing: matches!(record.undo, Undo::Claimed(_) | Undo::Wait(_) | Undo::Busy(_)),
            children,
            fiber: child(record).and_then(|id| made.remove(&id)).map(|node| Below(Box::new(node))),
        };
        parts.entry(record.group).or_default().push(node);
    }
    let mut top = parts.remove(&0).unwrap_or_default();
    // What is part of an effect that is being undone stands beside it.
    top.extend(parts.into_values().flatten());
    top.reverse();
    top
}

fn waiting_for(data: &Data) -> Option<String> {
    match data.state() {
        State::Loading => Some("its body".into()),
        State::Unloading => {
            if data.rare.as_ref().is_some_and(|rare| rare.drain.as_ref().is_some_and(|drain| !drain.fired()))
            {
                return Some("its dependants".into());
            }
            let last = data.effects.last_key()?;
            data.record(last).filter(|_| data.busy).map(|record| record.label.to_string())
        }
        State::Pending | State::Active | State::Failed | State::Disposed => None,
    }
}

/// A fiber below another; taken apart without recursion when it is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Below(Box<FiberNode>);

impl Deref for Below {
    type Target = FiberNode;

    fn deref(&self) -> &FiberNode {
        &self.0
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        let mut todo = std::mem::take(&mut self.0.effects);
        while let Some(mut effect) = todo.pop() {
            todo.append(&mut effect.children);
            if let Some(below) = &mut effect.fiber {
                todo.append(&mut below.0.effects);
            }
        }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        enum Line<'a> {
            Fiber(&'a FiberNode),
            Effect(&'a EffectNode),
        }
        let mut todo = vec![(0usize, Line::Fiber(&self.fiber))];
        while let Some((depth, line)) = todo.pop() {
            let indent = "  ".repeat(depth);
            match line {
                Line::Fiber(fiber) => {
                    writeln!(f, "{indent}{fiber}")?;
                    let effects = fiber.effects.iter().rev();
                    todo.extend(effects.map(|effect| (depth + 1, Line::Effect(effect))));
                }
                Line::Effect(effect) => {
                    if let Some(fiber) = &effect.fiber {
                        todo.push((depth, Line::Fiber(fiber)));
                        continue;
                    }
                    let undoing = if effect.undoing { " (being undone)" } else { "" };
                    writeln!(f, "{indent}{}{undoing}", effect.label)?;
                    let children = effect.children.iter().rev();
                    todo.extend(children.map(|child| (depth + 1, Line::Effect(child))));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for FiberNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uid {
            0 => write!(f, "{} {}", self.name, self.state)?,
            uid => write!(f, "{}#{uid} {}", self.name, self.state)?,
        }
        for need in &self.needs {
            let optional = if need.optional { "?" } else { "" };
            match &need.provider {
                Some(provider) => write!(f, ", needs {}{optional} of {provider}", need.service)?,
                None => write!(f, ", needs {}{optional} of nobody", need.service)?,
            }
        }
        if let Some(what) = &self.waiting_for {
            write!(f, ", waiting for {what}")?;
        }
        if let Some(error) = &self.error {
            write!(f, ", failed: {error}")?;
        }
        Ok(())
    }
}
