//! Which listeners, bodies, tasks and disposers the current thread is inside of right now.
//!
//! A frame is pushed around each *poll* of asynchronous foreign code, so it follows a future from thread to thread; a
//! counter is kept around each synchronous dispatch. A dispose looks here to see whether it would wait for its own caller.

use crate::fibers::FiberId;
use slotmap::{Key, KeyData};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};

/// Frames that are kept without allocating; deeper ones go to a list of their own.
const MAX: usize = 64;

/// The effect (a listener, task or disposer; for a plugin's body the one that mounted it) and the fiber that foreign code
/// belongs to. Effect numbers carry their app's number, so a frame is not taken for one of another app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) effect: u64,
    pub(crate) fiber: FiberId,
}

struct Frames {
    depth: Cell<usize>,
    sync: Cell<u32>,
    stack: [Cell<(u64, u64)>; MAX],
    /// The innermost frame that a panic unwound through.
    panicked: Cell<Option<Frame>>,
    /// Observers of failures are being told.
    telling: Cell<bool>,
    /// A teardown is dropping what it has taken out.
    removing: Cell<bool>,
    /// How many steps of teardowns are being started on this stack, one inside of another.
    starting: Cell<u32>,
}

impl Frames {
    const fn new() -> Self {
        Frames {
            depth: Cell::new(0),
            sync: Cell::new(0),
            stack: [const { Cell::new((0, 0)) }; MAX],
            panicked: Cell::new(None),
            telling: Cell::new(false),
            removing: Cell::new(false),
            starting: Cell::new(0),
        }
    }
}

#[cfg(not(cordis_shuttle))]
thread_local! { static FRAMES: Frames = const { Frames::new() } }
#[cfg(not(cordis_shuttle))]
thread_local! { static SPILL: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) } }
#[cfg(cordis_shuttle)]
shuttle::thread_local! { static SPILL: RefCell<Vec<(u64, u64)>> = RefCell::new(Vec::new()) }
#[cfg(cordis_shuttle)]
shuttle::thread_local! { static FRAMES: Frames = Frames::new() }

/// Keeps a frame that has no place in the stack.
#[cold]
fn spill(depth: usize, ids: (u64, u64)) {
    SPILL.with(|deep| {
        let mut deep = deep.borrow_mut();
        deep.truncate(depth - MAX);
        deep.push(ids);
    });
}

/// Pops its frame when dropped.
pub(crate) struct Inside {
    depth: usize,
    frame: Frame,
}

#[inline]
pub(crate) fn enter(frame: Frame) -> Inside {
    FRAMES.with(|t| {
        let depth = t.depth.get();
        let ids = (frame.effect, frame.fiber.data().as_ffi());
        match t.stack.get(depth) {
            Some(cell) => cell.set(ids),
            None => spill(depth, ids),
        }
        t.depth.set(depth + 1);
        Inside { depth, frame }
    })
}

impl Inside {
    /// Leaves without asking whether a panic is under way.
    #[inline]
    pub(crate) fn leave(self) {
        FRAMES.with(|t| t.depth.set(self.depth));
        std::mem::forget(self);
    }
}

impl Drop for Inside {
    #[cold]
    fn drop(&mut self) {
        FRAMES.with(|t| {
            t.depth.set(self.depth);
            if std::thread::panicking() && t.panicked.get().is_none() {
                t.panicked.set(Some(self.frame));
            }
        });
    }
}

/// Forgets a panic that foreign code caught itself; before foreign code is polled.
#[inline]
pub(crate) fn forget_panicked() {
    FRAMES.with(|t| t.panicked.set(None));
}

/// The frame whose panic was caught last.
pub(crate) fn take_panicked() -> Option<Frame> {
    FRAMES.with(|t| t.panicked.take())
}

/// Marks a synchronous dispatch while it lives.
pub(crate) struct InsideSync(());

#[inline]
pub(crate) fn enter_sync() -> InsideSync {
    FRAMES.with(|t| t.sync.set(t.sync.get() + 1));
    InsideSync(())
}

impl Drop for InsideSync {
    #[inline]
    fn drop(&mut self) {
        FRAMES.with(|t| t.sync.set(t.sync.get() - 1));
    }
}

/// Marks the telling of a failure while it lives; `None` when one is being told on this stack already.
pub(crate) struct Telling(());

pub(crate) fn tell() -> Option<Telling> {
    FRAMES.with(|t| (!t.telling.replace(true)).then_some(Telling(())))
}

impl Drop for Telling {
    fn drop(&mut self) {
        FRAMES.with(|t| t.telling.set(false));
    }
}

/// Runs `drop` as part of a teardown: user values go here and now.
pub(crate) fn removing<T>(drop: impl FnOnce() -> T) -> T {
    let before = FRAMES.with(|t| t.removing.replace(true));
    let result = drop();
    FRAMES.with(|t| t.removing.set(before));
    result
}

/// Deeper than this a step is started as a task, so that parts of parts of parts need no stack.
const MAX_STARTING: u32 = 16;

/// Starts a step of a teardown on this stack; `None` when there are too many on it already.
pub(crate) fn starting<T>(start: impl FnOnce() -> T) -> Option<T> {
    let depth = FRAMES.with(|t| t.starting.get());
    if depth >= MAX_STARTING {
        return None;
    }
    FRAMES.with(|t| t.starting.set(depth + 1));
    let result = start();
    FRAMES.with(|t| t.starting.set(depth));
    Some(result)
}

pub(crate) fn is_removing() -> bool {
    FRAMES.with(|t| t.removing.get())
}

/// Inside a synchronous listener nothing can be awaited: whoever polls there blocks the dispatch.
pub(crate) fn blocking() -> bool {
    FRAMES.with(|t| t.sync.get() > 0)
}

/// Whether foreign code of any kind is running on this thread.
pub(crate) fn any() -> bool {
    FRAMES.with(|t| t.sync.get() > 0 || t.depth.get() > 0)
}

/// The frames of this thread, outermost first.
pub(crate) fn current() -> SmallVec<[Frame; 8]> {
    FRAMES.with(|t| {
        let depth = t.depth.get();
        let mut ids: SmallVec<[(u64, u64); 8]> = t.stack[..depth.min(MAX)].iter().map(Cell::get).collect();
        if depth > MAX {
            SPILL.with(|deep| ids.extend(deep.borrow()[..depth - MAX].iter().copied()));
        }
        let frame = |(effect, fiber)| Frame { effect, fiber: KeyData::from_ffi(fiber).into() };
        ids.into_iter().map(frame).collect()
    })
}

/// Puts the synchronous dispatch around a disposer aside: what the disposer awaits it really waits for, in its own time.
pub(crate) struct AsideSync(u32);

pub(crate) fn aside_sync() -> AsideSync {
    FRAMES.with(|t| AsideSync(t.sync.replace(0)))
}

impl Drop for AsideSync {
    fn drop(&mut self) {
        FRAMES.with(|t| t.sync.set(self.0));
    }
}

/// Puts the frames aside: the pump runs other plugins' code, which is not inside what the pump's caller is inside of.
pub(crate) struct Aside(usize, u32, Vec<(u64, u64)>, Vec<(u64, u64)>);

pub(crate) fn aside() -> Aside {
    FRAMES.with(|t| {
        let depth = t.depth.replace(0);
        let saved = t.stack[..depth.min(MAX)].iter().map(Cell::get).collect();
        let deep = if depth > MAX { SPILL.with(RefCell::take) } else { Vec::new() };
        Aside(depth, t.sync.replace(0), saved, deep)
    })
}

impl Drop for Aside {
    fn drop(&mut self) {
        FRAMES.with(|t| {
            t.depth.set(self.0);
            t.sync.set(self.1);
            for (cell, frame) in t.stack.iter().zip(&self.2) {
                cell.set(*frame);
            }
            if self.0 > MAX {
                SPILL.with(|deep| deep.replace(std::mem::take(&mut self.3)));
            }
        });
    }
}
