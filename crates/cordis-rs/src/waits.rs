//! Would a caller wait for itself?

use crate::{
    Disposed, FiberId,
    done::Done,
    effect::Record,
    fibers::{Fibers, Source},
    frames::{self, Frame},
    shared::Shared,
};
use smallvec::SmallVec;
use std::{collections::HashSet, future::poll_fn, task::Poll};

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
        let mut seen = Seen::default();
        while let Some(frame) = todo.pop() {
            if meets(&fibers, target, frame) {
                return true;
            }
            if !seen.insert((frame.fiber, frame.effect)) {
                continue;
            }
            let Some(data) = fibers.get(frame.fiber) else { continue };
            todo.push(Frame { effect: data.effect, fiber: data.parent });
            let provided = data.epoch.iter().filter(|source| source.id != 0);
            todo.extend(provided.map(|Source { id, owner }| Frame { effect: *id, fiber: *owner }));
        }
        false
    }

    /// Waits until `done` has ended, and tells what it left behind; one who is inside of `target` does not wait.
    pub(crate) async fn end_of(&self, done: &Done, target: Target) -> Disposed {
        poll_fn(|cx| {
            if !done.fired() && self.would_wait_for_caller(target) {
                return Poll::Ready(Disposed { requested: true, ..done.report() });
            }
            done.poll(cx).map(|()| done.report())
        })
        .await
    }
}

/// Where a walk has been: most are a few steps, and some go through everything.
#[derive(Default)]
struct Seen {
    few: SmallVec<[(FiberId, u64); 16]>,
    /// Empty until there are more than a few.
    many: HashSet<(FiberId, u64)>,
}

impl Seen {
    /// Whether it is new.
    fn insert(&mut self, place: (FiberId, u64)) -> bool {
        if self.many.is_empty() {
            if self.few.contains(&place) {
                return false;
            }
            if self.few.len() < self.few.inline_size() {
                self.few.push(place);
                return true;
            }
            self.many.extend(self.few.drain(..));
        }
        self.many.insert(place)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_knows_where_it_has_been_however_far_it_goes() {
        let mut seen = Seen::default();
        let mut before = 0;
        for length in [1, 15, 16, 17, 100] {
            for place in 0..length {
                assert_eq!(seen.insert((FiberId::default(), place)), place >= before, "{place} of {length}");
            }
            before = length;
        }
        assert_eq!(seen.few.len() + seen.many.len(), 100);
    }
}
