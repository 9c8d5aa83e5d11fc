//! Would a caller wait for itself?

use crate::{
    FiberId,
    effect::Record,
    fibers::{Fibers, Source},
    frames::{self, Frame},
    shared::Shared,
};

/// What somebody is about to wait for.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Fiber(FiberId),
    Effect(FiberId, u64),
}

impl Shared {
    /// Whether the undoing of `target` waits for code that the current thread is inside of. Walks from each frame to what
    /// waits for it: a parent waits for its children, a provider for its dependants, a group for its parts.
    ///
    /// Frames follow futures, not spawned tasks: what waits for a task that waits here is seen by no one, and ends by the
    /// limit of the step.
    pub(crate) fn would_wait_for_caller(&self, target: Target) -> bool {
        if frames::blocking() {
            return true;
        }
        let mut todo = frames::current();
        todo.retain(|frame| self.owns(*frame));
        if todo.is_empty() {
            return false;
        }
        let fibers = self.fibers.lock();
        let mut seen: smallvec::SmallVec<[(FiberId, u64); 16]> = smallvec::SmallVec::new();
        while let Some(frame) = todo.pop() {
            if meets(&fibers, target, frame) {
                return true;
            }
            if seen.contains(&(frame.fiber, frame.effect)) {
                continue;
            }
            seen.push((frame.fiber, frame.effect));
            let Some(data) = fibers.get(frame.fiber) else { continue };
            todo.push(Frame { effect: data.effect, fiber: data.parent });
            let provided = data.epoch.iter().filter(|source| source.id != 0);
            todo.extend(provided.map(|Source { id, owner }| Frame { effect: *id, fiber: *owner }));
        }
        false
    }
}

/// Whether undoing `target` undoes `frame`'s effect.
fn meets(fibers: &Fibers, target: Target, frame: Frame) -> bool {
    match target {
        Target::Fiber(fiber) => fiber == frame.fiber,
        Target::Effect(fiber, effect) => {
            fiber == frame.fiber && {
                let data = fibers.get(fiber);
                let outer = |id: &u64| {
                    let record: Option<&Record> = data.and_then(|data| data.record(*id));
                    record.map(|record| record.group).filter(|group| *group != 0)
                };
                std::iter::successors(Some(frame.effect), outer).any(|id| id == effect)
            }
        }
    }
}
