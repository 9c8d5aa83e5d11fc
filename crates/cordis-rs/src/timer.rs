//! Timers that end with their plugin.
//!
//! Source: the reference's timer service (`timeout`, `interval`, `throttle`, `debounce`).

use crate::{
    Context, ContextDisposed, Effect, Inactive,
    contain::contained,
    sync::{Arc, Mutex},
    task::Signal,
};
use std::{fmt, time::Duration};

#[cfg(not(cordis_shuttle))]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Schedules have no time: a sleep may end at any moment, and one of a day or more never does.
#[cfg(cordis_shuttle)]
pub(crate) async fn sleep(duration: Duration) {
    if duration >= Duration::from_secs(24 * 60 * 60) {
        std::future::pending::<()>().await;
    }
    shuttle::future::yield_now().await;
}

impl Context {
    /// Calls `callback` once after `delay`. The effect has ended by the time it runs; an unload still waits for it.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn timeout(
        &self,
        delay: Duration,
        callback: impl FnOnce() + Send + 'static,
    ) -> Result<Effect, Inactive> {
        let ctx = self.clone();
        self.spawn("ctx.timeout()", async move {
            sleep(delay).await;
            ctx.current_task_is_over("ctx.timeout()");
            callback();
        })
    }

    /// Calls `callback` every `period`, the first time after one period, until the effect is disposed. A panic is
    /// reported and the next call comes all the same. Calls that could not be made in time are left out.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn interval(
        &self,
        period: Duration,
        mut callback: impl FnMut() + Send + 'static,
    ) -> Result<Effect, Inactive> {
        let ctx = self.clone();
        self.spawn("ctx.interval()", async move {
            let mut clock = Clock::new(period);
            loop {
                clock.tick().await;
                if let Err(panic) = contained(&mut callback) {
                    ctx.report("ctx.interval()", format!("panicked: {panic}"));
                }
            }
        })
    }

    /// A clock to await: `while ticks.next().await.is_ok() { .. }`. Registered as an effect until it is dropped.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn ticks(&self, period: Duration) -> Result<Ticks, Inactive> {
        Ok(Ticks {
            signal: self.signal("ctx.interval()")?,
            plugin: self.cell().label(),
            clock: Clock::new(period),
        })
    }

    /// Wraps `callback` so that it runs at most once a `window`: at once, and, if it was called again meanwhile, at the
    /// window's end with the last argument.
    #[must_use]
    pub fn throttle<A: Send + 'static>(
        &self,
        window: Duration,
        callback: impl Fn(A) + Send + Sync + 'static,
    ) -> Throttle<A> {
        let state = Arc::new(Mutex::new(Window { open: None, waiting: None, disposed: false }));
        Throttle { ctx: self.clone(), window, trailing: true, callback: Arc::new(callback), state }
    }

    /// Wraps `callback` so that it runs once calls have ceased for `delay`, with the last argument.
    #[must_use]
    pub fn debounce<A: Send + 'static>(
        &self,
        delay: Duration,
        callback: impl Fn(A) + Send + Sync + 'static,
    ) -> Debounce<A> {
        Debounce { ctx: self.clone(), delay, callback: Arc::new(callback), state: Arc::default() }
    }
}

/// A period's ticks, counted from its making; those that nobody waits for are lost.
struct Clock {
    #[cfg(not(cordis_shuttle))]
    begun: tokio::time::Instant,
    #[cfg(not(cordis_shuttle))]
    ticked: u128,
    period: Duration,
}

impl Clock {
    fn new(period: Duration) -> Self {
        Clock {
            #[cfg(not(cordis_shuttle))]
            begun: tokio::time::Instant::now(),
            #[cfg(not(cordis_shuttle))]
            ticked: 0,
            // A period of nothing would never let others run.
            period: period.max(Duration::from_millis(1)),
        }
    }

    #[cfg(not(cordis_shuttle))]
    async fn tick(&mut self) {
        let (elapsed, period) = (self.begun.elapsed().as_nanos(), self.period.as_nanos());
        let passed = elapsed / period;
        // A tick that is due this instant still counts, one that was given already does not.
        let due = elapsed.is_multiple_of(period) && passed > self.ticked;
        let next = if due { passed } else { passed + 1 };
        let ahead = period.saturating_mul(next).saturating_sub(elapsed);
        tokio::time::sleep(Duration::from_nanos(u64::try_from(ahead).unwrap_or(u64::MAX))).await;
        self.ticked = next;
    }

    #[cfg(cordis_shuttle)]
    async fn tick(&mut self) {
        sleep(self.period).await;
    }
}

/// A clock to await, from [`Context::ticks`].
pub struct Ticks {
    signal: Signal,
    plugin: String,
    clock: Clock,
}

impl Ticks {
    /// Waits for the next tick.
    ///
    /// # Errors
    /// The context went away.
    ///
    /// # Cancel safety
    /// Dropping the future loses no tick.
    pub async fn next(&mut self) -> Result<(), ContextDisposed> {
        let Ticks { signal, plugin, clock } = self;
        let mut tick = Box::pin(clock.tick());
        std::future::poll_fn(|cx| {
            use std::task::Poll;
            if signal.told.poll(cx).is_ready() {
                return Poll::Ready(Err(ContextDisposed { plugin: plugin.clone() }));
            }
            tick.as_mut().poll(cx).map(Ok)
        })
        .await
    }
}

impl fmt::Debug for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticks")
            .field("plugin", &self.plugin)
            .field("period", &self.clock.period)
            .finish_non_exhaustive()
    }
}

type Callback<A> = Arc<dyn Fn(A) + Send + Sync>;

/// A callback that runs at most once a window, from [`Context::throttle`].
pub struct Throttle<A> {
    ctx: Context,
    window: Duration,
    trailing: bool,
    callback: Callback<A>,
    state: Arc<Mutex<Window<A>>>,
}

struct Window<A> {
    /// The task that ends the window.
    open: Option<Effect>,
    waiting: Option<A>,
    disposed: bool,
}

impl<A: Send + 'static> Throttle<A> {
    /// Leaves out the call at the window's end.
    #[must_use]
    pub fn leading_only(mut self) -> Self {
        self.trailing = false;
        self
    }

    /// Runs the callback now, or at the end of the running window. After `dispose`, or when its plugin is gone, it does
    /// nothing.
    pub fn call(&self, argument: A) {
        {
            let mut state = self.state.lock();
            if state.disposed {
                drop(state);
                return;
            }
            if state.open.is_some() {
                let replaced = if self.trailing { state.waiting.replace(argument) } else { Some(argument) };
                drop(state);
                drop(replaced);
                return;
            }
            let Ok(window) = self.ctx.spawn("ctx.throttle()", self.clone().run_window()) else {
                drop(state);
                return;
            };
            state.open = Some(window);
        }
        (self.callback)(argument);
    }

    /// Cancels the waiting call; later calls do nothing.
    pub fn dispose(&self) {
        let (open, waiting) = {
            let mut state = self.state.lock();
            state.disposed = true;
            (state.open.take(), state.waiting.take())
        };
        drop(waiting);
        if let Some(open) = open {
            open.cancel();
        }
    }

    async fn run_window(self) {
        let mut closes = CloseWindow { state: self.state.clone(), closed: false };
        loop {
            sleep(self.window).await;
            let next = {
                let mut state = self.state.lock();
                let next = state.waiting.take();
                if next.is_none() {
                    // Closed in the same breath: a call from now on opens a window of its own.
                    state.open = None;
                }
                next
            };
            let Some(argument) = next else { break };
            (self.callback)(argument);
        }
        closes.closed = true;
    }
}

/// However the window ends, the next call finds it closed.
struct CloseWindow<A> {
    state: Arc<Mutex<Window<A>>>,
    closed: bool,
}

impl<A> Drop for CloseWindow<A> {
    fn drop(&mut self) {
        let (open, waiting) = {
            if self.closed {
                return;
            }
            let mut state = self.state.lock();
            (state.open.take(), state.waiting.take())
        };
        drop((open, waiting));
    }
}

impl<A> Clone for Throttle<A> {
    fn clone(&self) -> Self {
        Throttle {
            ctx: self.ctx.clone(),
            window: self.window,
            trailing: self.trailing,
            callback: self.callback.clone(),
            state: self.state.clone(),
        }
    }
}

impl<A> fmt::Debug for Throttle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plugin = self.ctx.cell().label();
        f.debug_struct("Throttle")
            .field("plugin", &plugin)
            .field("window", &self.window)
            .field("trailing", &self.trailing)
            .finish_non_exhaustive()
    }
}

/// A callback that runs once calls have ceased, from [`Context::debounce`].
pub struct Debounce<A> {
    ctx: Context,
    delay: Duration,
    callback: Callback<A>,
    state: Arc<Mutex<Pending>>,
}

#[derive(Default)]
struct Pending {
    waiting: Option<Effect>,
    /// Counts calls.
    turn: u64,
    disposed: bool,
}

impl<A: Send + 'static> Debounce<A> {
    /// Runs the callback after the delay, unless it is called again before.
    pub fn call(&self, argument: A) {
        let turn = {
            let mut state = self.state.lock();
            state.turn += 1;
            if state.disposed { None } else { Some(state.turn) }
        };
        let Some(turn) = turn else { return };
        let (delay, callback) = (self.delay, self.callback.clone());
        let task = async move {
            sleep(delay).await;
            callback(argument);
        };
        // Outside of the lock: on a context that is gone the argument is dropped here.
        let next = self.ctx.spawn("ctx.debounce()", task).ok();
        let last = {
            let mut state = self.state.lock();
            // A later call or a dispose came in between: this one has lost its turn.
            if state.turn == turn && !state.disposed {
                std::mem::replace(&mut state.waiting, next)
            } else {
                next
            }
        };
        if let Some(last) = last {
            last.cancel();
        }
    }

    /// Cancels the waiting call; later calls do nothing.
    pub fn dispose(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.disposed = true;
            state.waiting.take()
        };
        if let Some(waiting) = waiting {
            waiting.cancel();
        }
    }
}

impl<A> Clone for Debounce<A> {
    fn clone(&self) -> Self {
        Debounce {
            ctx: self.ctx.clone(),
            delay: self.delay,
            callback: self.callback.clone(),
            state: self.state.clone(),
        }
    }
}

impl<A> fmt::Debug for Debounce<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plugin = self.ctx.cell().label();
        f.debug_struct("Debounce")
            .field("plugin", &plugin)
            .field("delay", &self.delay)
            .finish_non_exhaustive()
    }
}
