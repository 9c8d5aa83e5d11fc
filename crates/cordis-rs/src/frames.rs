//! Which listeners, bodies, tasks and disposers the current thread is inside of right now.
//!
//! A frame is pushed around each *poll* of asynchronous foreign code, so it follows a future from thread to thread; a
//! counter is kept around each synchronous dispatch. A dispose looks here to see whether it would wait for its own caller.

use crate::fibers::FiberId;
use slotmap::{Key, KeyData};
use smallvec::SmallVec;
use std::cell::Cell;

/// Deeper nesting than this is taken for "inside of everything": a dispose there only requests.
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
        }
    }
}

#[cfg(not(cordis_shuttle))]
thread_local! { static FRAMES: Frames = const { Frames::new() } }
#[cfg(cordis_shuttle)]
shuttle::thread_local! { static FRAMES: Frames = Frames::new() }

/// Pops its frame when dropped.
pub(crate) struct Inside {
    depth: usize,
    frame: Frame,
}

#[inline]
pub(crate) fn enter(frame: Frame) -> Inside {
    FRAMES.with(|t| {
        let depth = t.depth.get();
        if depth < MAX {
            t.stack[depth].set((frame.effect, frame.fiber.data().as_ffi()));
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

pub(crate) fn is_removing() -> bool {
    FRAMES.with(|t| t.removing.get())
}

/// Inside a synchronous listener nothing can be awaited: whoever polls there blocks the dispatch.
pub(crate) fn blocking() -> bool {
    FRAMES.with(|t| t.sync.get() > 0 || t.depth.get() > MAX)
}

/// Whether foreign code of any kind is running on this thread.
pub(crate) fn any() -> bool {
    FRAMES.with(|t| t.sync.get() > 0 || t.depth.get() > 0)
}

/// The frames of this thread, outermost first.
pub(crate) fn current() -> SmallVec<[Frame; 8]> {
    FRAMES.with(|t| {
        t.stack[..t.depth.get().min(MAX)]
            .iter()
            .map(|cell| {
                let (effect, fiber) = cell.get();
                Frame { effect, fiber: KeyData::from_ffi(fiber).into() }
            })
            .collect()
    })
}

/// Puts the frames aside: the pump runs other plugins' code, which is not inside what the pump's caller is inside of.
pub(crate) struct Aside(usize, u32, Vec<(u64, u64)>);

pub(crate) fn aside() -> Aside {
    FRAMES.with(|t| {
        let depth = t.depth.replace(0);
        let saved = t.stack[..depth.min(MAX)].iter().map(Cell::get).collect();
        Aside(depth, t.sync.replace(0), saved)
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
        });
    }
}
