//! The primitives that other modules build on, in one place so that a schedule explorer can take their part.
//!
//! Under `cfg(cordis_shuttle)` locks, atomics, the snapshot cell and task spawning are those of `shuttle`. `Arc` stays
//! that of std: its counts are no schedule points, and shuttle explores sequentially consistent
//! interleavings only, so weak memory orders are argued for in comments where they matter.

pub(crate) use std::sync::{Arc, Weak};

#[cfg(cordis_shuttle)]
pub(crate) use explored::OnceLock;
#[cfg(not(cordis_shuttle))]
pub(crate) use std::sync::OnceLock;

#[cfg(not(cordis_shuttle))]
pub(crate) use {
    parking_lot::{Mutex, MutexGuard},
    std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering},
};

#[cfg(not(cordis_shuttle))]
pub(crate) use std::{hint::spin_loop, thread::yield_now as yield_thread};

#[cfg(cordis_shuttle)]
pub(crate) use shuttle::{hint::spin_loop, thread::yield_now as yield_thread};

#[cfg(cordis_shuttle)]
pub(crate) use {
    explored::{Mutex, MutexGuard},
    shuttle::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering},
};

/// A cell that holds an `Option<Arc<T>>`, read without a lock and swapped as a whole.
///
/// A guard is taken per dispatch or per look-up and never held across an await: held guards use up the few
/// per-thread slots that make reading cheap.
#[cfg(not(cordis_shuttle))]
pub(crate) struct Swap<T>(arc_swap::ArcSwapOption<T>);

#[cfg(not(cordis_shuttle))]
pub(crate) type SwapGuard<T> = arc_swap::Guard<Option<Arc<T>>>;

#[cfg(not(cordis_shuttle))]
impl<T> Swap<T> {
    pub(crate) const fn empty() -> Self {
        Swap(arc_swap::ArcSwapOption::const_empty())
    }

    #[inline(always)]
    pub(crate) fn load(&self) -> SwapGuard<T> {
        self.0.load()
    }

    pub(crate) fn load_full(&self) -> Option<Arc<T>> {
        self.0.load_full()
    }

    #[must_use = "the old value may drop user values: drop it outside of all locks"]
    pub(crate) fn swap(&self, new: Option<Arc<T>>) -> Option<Arc<T>> {
        self.0.swap(new)
    }
}

#[cfg(cordis_shuttle)]
pub(crate) use explored::{Swap, SwapGuard};

#[cfg(cordis_shuttle)]
mod explored {
    use std::{
        ops::{Deref, DerefMut},
        sync::Arc,
    };

    /// A mutex that ignores poisoning, as `parking_lot` does.
    #[derive(Default)]
    pub(crate) struct Mutex<T: ?Sized>(shuttle::sync::Mutex<T>);

    pub(crate) struct MutexGuard<'a, T: ?Sized>(shuttle::sync::MutexGuard<'a, T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(shuttle::sync::Mutex::new(value))
        }
    }

    impl<T: ?Sized> Mutex<T> {
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(self.0.lock().unwrap_or_else(|e| e.into_inner()))
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(|e| e.into_inner())
        }
    }

    impl<T: ?Sized> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }

    /// A cell that is written once; looking into it and writing it are points at which another thread may run.
    pub(crate) struct OnceLock<T>(std::sync::OnceLock<T>, shuttle::sync::atomic::AtomicBool);

    impl<T> Default for OnceLock<T> {
        fn default() -> Self {
            Self::new()
        }
    }

    impl<T> OnceLock<T> {
        pub(crate) const fn new() -> Self {
            OnceLock(std::sync::OnceLock::new(), shuttle::sync::atomic::AtomicBool::new(false))
        }

        fn point(&self) {
            self.1.load(shuttle::sync::atomic::Ordering::SeqCst);
        }

        pub(crate) fn get(&self) -> Option<&T> {
            self.point();
            self.0.get()
        }

        pub(crate) fn set(&self, value: T) -> Result<(), T> {
            self.point();
            self.0.set(value)
        }

        pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
            self.point();
            self.0.get_or_init(make)
        }

        pub(crate) fn take(&mut self) -> Option<T> {
            self.0.take()
        }
    }

    pub(crate) struct Swap<T>(shuttle::sync::Mutex<Option<Arc<T>>>);

    pub(crate) type SwapGuard<T> = Loaded<T>;

    pub(crate) struct Loaded<T>(Option<Arc<T>>);

    impl<T> Loaded<T> {
        pub(crate) fn from_inner(inner: Option<Arc<T>>) -> Self {
            Loaded(inner)
        }
    }

    impl<T> Deref for Loaded<T> {
        type Target = Option<Arc<T>>;
        fn deref(&self) -> &Option<Arc<T>> {
            &self.0
        }
    }

    impl<T> Swap<T> {
        pub(crate) fn empty() -> Self {
            Swap(shuttle::sync::Mutex::new(None))
        }

        pub(crate) fn load(&self) -> Loaded<T> {
            Loaded(self.load_full())
        }

        pub(crate) fn load_full(&self) -> Option<Arc<T>> {
            self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
        }

        pub(crate) fn swap(&self, new: Option<Arc<T>>) -> Option<Arc<T>> {
            std::mem::replace(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()), new)
        }
    }
}
