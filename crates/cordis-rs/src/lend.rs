//! Code that a plugin lends to others: a tool's body, a guard, a renderer.
//!
//! **Invariants**
//! 1. `live` is false before the lender lets go of the code.
//! 2. Each call counts itself by the `Arc` that it holds. A call that finds the code live after it has counted itself is
//!    waited for by whoever takes the code back.
//! 3. The code is dropped outside of all locks, and `done` fires after that.

use crate::{
    BoxFuture, Context, Effect, Inactive,
    bucket::{AnyBucket, drop_captures},
    contain::drop_reported,
    done::{Done, DoneSlot},
    effect::{Label, Record, Undo},
    fiber::FiberCell,
    foreign::Foreign,
    frames::{self, removing},
    sync::{Arc, AtomicBool, Mutex, Ordering::*, Weak},
};
use slotmap::{DefaultKey, SlotMap};
use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll, Waker},
};

/// What is lent, counted by its calls.
struct Code<T: Send + Sync + 'static> {
    live: AtomicBool,
    effect: u64,
    owner: Arc<FiberCell>,
    label: Cow<'static, str>,
    /// Who is to be woken when it is taken back: one for each suspended call.
    suspended: Mutex<SlotMap<DefaultKey, Waker>>,
    value: Option<T>,
    done: DoneSlot,
}

/// What a running call needs of its code, whatever its type.
trait Counted: Send + Sync {
    fn is_live(&self) -> bool;
    /// False when it has been taken back; else `waker` is woken when it is.
    fn suspend(&self, place: &mut Option<DefaultKey>, waker: &Waker) -> bool;
    fn resume(&self, place: DefaultKey);
}

impl<T: Send + Sync + 'static> Counted for Code<T> {
    fn is_live(&self) -> bool {
        self.live.load(SeqCst)
    }

    fn suspend(&self, place: &mut Option<DefaultKey>, waker: &Waker) -> bool {
        let mut suspended = self.suspended.lock();
        let old = match place.and_then(|place| suspended.get_mut(place)) {
            Some(old) if old.will_wake(waker) => None,
            Some(old) => Some(std::mem::replace(old, waker.clone())),
            None => {
                *place = Some(suspended.insert(waker.clone()));
                None
            }
        };
        drop(suspended);
        drop(old);
        // Looked at after the waker is there: whoever takes the code back either sees the waker or is seen here.
        self.live.load(SeqCst)
    }

    fn resume(&self, place: DefaultKey) {
        let waker = self.suspended.lock().remove(place);
        drop(waker);
    }
}

impl<T: Send + Sync + 'static> Drop for Code<T> {
    fn drop(&mut self) {
        let Some(value) = self.value.take() else { return };
        let (owner, label, removed) = (self.owner.clone(), self.label.clone(), !self.live.load(Relaxed));
        drop_captures(
            self.effect,
            owner,
            removed,
            move || Label::Named(label),
            value,
            std::mem::take(&mut self.done),
        );
    }
}

/// The lender's own hold.
struct Held<T: Send + Sync + 'static>(Mutex<Option<Arc<Code<T>>>>);

impl<T: Send + Sync + 'static> AnyBucket for Held<T> {
    fn remove(&self, _: i64) -> Option<Arc<Done>> {
        let code = self.0.lock().take()?;
        code.live.store(false, SeqCst);
        let done = code.done.install();
        // Not by another map in its place: a call that suspends this instant would find its place taken by somebody else.
        let suspended: Vec<Waker> = code.suspended.lock().drain().map(|(_, waker)| waker).collect();
        for waker in suspended {
            waker.wake();
        }
        removing(|| drop(code));
        (!done.fired()).then_some(done)
    }

    fn claim(&self, _: i64) -> Option<(Arc<Done>, Box<dyn Send>)> {
        None
    }
}

/// Code of a plugin that others may run; cheap to clone, and it keeps nothing alive.
///
/// It runs as the plugin's own code: inside of its span, with its panic contained. When the plugin unloads, a suspended
/// call ends at its current await, and the unloading waits until no call runs any more; afterwards every call is
/// [`Refused::Gone`].
pub struct Lent<T: Send + Sync + 'static> {
    code: Weak<Code<T>>,
    owner: Arc<FiberCell>,
}

/// Lent code that did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The plugin has taken it back, or is unloaded.
    #[error("`{plugin}` is unloaded, or has taken this back")]
    Gone {
        /// The plugin.
        plugin: String,
    },
    /// It panicked. This is told to the caller and not reported otherwise.
    #[error("`{plugin}` panicked: {reason}")]
    Panicked {
        /// The plugin, without its number: the same in another run.
        plugin: String,
        /// What it panicked with.
        reason: String,
    },
}

impl<T: Send + Sync + 'static> Clone for Lent<T> {
    fn clone(&self) -> Self {
        Lent { code: self.code.clone(), owner: self.owner.clone() }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Lent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lent(of {})", self.owner.label())
    }
}

impl<T: Send + Sync + 'static> Lent<T> {
    /// The plugin that lends it, as reports name it.
    #[must_use]
    pub fn owner(&self) -> String {
        self.owner.label()
    }

    /// Whether it can be called.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.code.upgrade().is_some_and(|code| code.live.load(SeqCst))
    }

    #[inline]
    fn count(&self) -> Result<Arc<Code<T>>, Refused> {
        match self.code.upgrade() {
            Some(code) if code.live.load(SeqCst) => Ok(code),
            _ => Err(Refused::Gone { plugin: self.owner.label() }),
        }
    }

    /// Runs the code on this stack.
    ///
    /// # Errors
    /// See [`Refused`].
    #[inline]
    pub fn call<R>(&self, run: impl FnOnce(&T) -> R) -> Result<R, Refused> {
        let code = self.count()?;
        let foreign = Foreign::of(&code.owner, code.effect);
        let Some(value) = &code.value else { return Err(Refused::Gone { plugin: code.owner.label() }) };
        let ran = foreign.run(|| {
            let _sync = frames::enter_sync();
            run(value)
        });
        ran.map_err(|reason| panicked(&code.owner, reason))
    }

    /// Starts the code, which gives a future; the result polls it. It is counted from now on, and until the future has
    /// ended or is dropped.
    ///
    /// # Errors
    /// See [`Refused`]; of the code that gives the future.
    pub fn start<R>(&self, start: impl FnOnce(&T) -> BoxFuture<'static, R>) -> Result<LentCall<R>, Refused> {
        let code = self.count()?;
        let foreign = Foreign::of(&code.owner, code.effect);
        let Some(value) = &code.value else { return Err(Refused::Gone { plugin: code.owner.label() }) };
        let future = foreign.run(|| start(value)).map_err(|reason| panicked(&code.owner, reason))?;
        let running = Running { future, place: None, counted: code };
        Ok(LentCall { running: Some(running), foreign, owner: self.owner.clone() })
    }
}

fn panicked(owner: &FiberCell, reason: String) -> Refused {
    Refused::Panicked { plugin: owner.name.to_string(), reason }
}

/// A running call of lent code.
///
/// Once the code is taken back it ends with [`Refused::Gone`]: the plugin's future is dropped and not polled again, even
/// if it could have ended by now.
///
/// # Cancel safety
/// Dropping it drops the code's future; the plugin is then no longer held up by it.
#[must_use = "futures do nothing unless awaited"]
pub struct LentCall<R> {
    /// None when it has ended: one that is kept afterwards holds nobody up.
    running: Option<Running<R>>,
    foreign: Foreign,
    owner: Arc<FiberCell>,
}

struct Running<R> {
    future: BoxFuture<'static, R>,
    /// Of its waker, once it has suspended.
    place: Option<DefaultKey>,
    counted: Arc<dyn Counted>,
}

impl<R> LentCall<R> {
    /// What a plugin's future holds is a user's and may panic when it is dropped.
    fn end(&mut self) {
        let Some(Running { future, place, counted }) = self.running.take() else { return };
        if let Some(place) = place {
            counted.resume(place);
        }
        let effect = self.foreign.effect();
        drop_reported(effect, &self.owner, || Label::Named("a call that was dropped".into()), future);
        // Last: whoever takes the code back waits for the future too.
        drop(counted);
    }
}

impl<R> Future for LentCall<R> {
    type Output = Result<R, Refused>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // A finished future polled again is its caller's mistake; it never ends twice.
        let Some(Running { future, place, counted }) = &mut this.running else { return Poll::Pending };
        let gone = || Err(Refused::Gone { plugin: this.owner.label() });
        let ended = if !counted.is_live() {
            gone()
        } else {
            match this.foreign.run(|| future.as_mut().poll(cx)) {
                Ok(Poll::Pending) if counted.suspend(place, cx.waker()) => return Poll::Pending,
                Ok(Poll::Pending) => gone(),
                Ok(Poll::Ready(result)) => Ok(result),
                Err(reason) => Err(panicked(&this.owner, reason)),
            }
        };
        this.end();
        Poll::Ready(ended)
    }
}

impl<R> Drop for LentCall<R> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<R> fmt::Debug for LentCall<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LentCall(of {})", self.owner.label())
    }
}

impl Context {
    /// Lends code of this context's plugin to others: what is called later and elsewhere, and must end with the plugin.
    /// Undoing the effect takes the code back and waits until no call of it runs; what the code captured is dropped then.
    ///
    /// # Errors
    /// The context is inactive; `code` is dropped.
    ///
    /// # Examples
    /// ```
    /// # use cordis::{App, BoxError, Refused};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), BoxError> {
    /// let app = App::new()?;
    /// let (effect, double) = app.lend("double", |n: u32| n * 2)?;
    /// assert_eq!(double.call(|double| double(21)), Ok(42));
    /// effect.dispose().await;
    /// assert!(matches!(double.call(|double| double(21)), Err(Refused::Gone { .. })));
    /// # Ok(())
    /// # }
    /// ```
    pub fn lend<T: Send + Sync + 'static>(
        &self,
        label: impl Into<Cow<'static, str>>,
        code: T,
    ) -> Result<(Effect, Lent<T>), Inactive> {
        let (label, mut value) = (label.into(), Some(code));
        let (effect, lent) = {
            let mut fibers = self.shared().fibers.lock();
            let data = fibers.accepting(self, "lend code")?;
            let effect = self.shared().next_seq();
            let code = Arc::new(Code {
                live: AtomicBool::new(true),
                effect,
                owner: self.cell().clone(),
                label: label.clone(),
                suspended: Mutex::default(),
                value: value.take(),
                done: DoneSlot::default(),
            });
            let lent = Lent { code: Arc::downgrade(&code), owner: self.cell().clone() };
            let undo = Undo::Listener(Arc::new(Held(Mutex::new(Some(code)))), 0);
            data.add(effect, Record { undo, label: Label::Named(label), group: self.group() });
            (effect, lent)
        };
        Ok((Effect::new(self, effect), lent))
    }
}
