//! Timers that end with their plugin.
//!
//! Source: the reference's timer service (`timeout`, `interval`, `throttle`, `debounce`).

use crate::{
    Context, ContextDisposed, Effect, Inactive,
    contain::contained,
    sync::{Arc, Mutex},
    task::Signal,
};
use std::time::Duration;

#[cfg(not(cordis_shuttle))]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

#[cfg(cordis_shuttle)]
pub(crate) async fn sleep(_duration: Duration) {
    shuttle::future::yield_now().await;
}

impl Context {
    /// Calls `callback` once after `delay`. The effect has ended by the time it runs.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn timeout(&self, delay: Duration, callback: impl FnOnce() + Send + 'static) -> Result<Effect, Inactive> {
        self.spawn("ctx.timeout()", async move {
            sleep(delay).await;
            callback();
        })
    }

    /// Calls `callback` every `period`, the first time after one period, until the effect is disposed. A panic is
    /// reported and the next call comes all the same. Calls that could not be made in time are left out.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn interval(&self, period: Duration, mut callback: impl FnMut() + Send + 'static) -> Result<Effect, Inactive> {
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
        Ok(Ticks { signal: self.signal("ctx.interval()")?, plugin: self.cell().label(), clock: Clock::new(period) })
    }

    /// Wraps `callback` so that it runs at most once a `window`: at once, and, if it was called again meanwhile, at the
    /// window's end with the last argument.
    pub fn throttle<A: Send + 'static>(
        &self,
        window: Duration,
        callback: impl Fn(A) + Send + Sync + 'static,
    ) -> Throttle<A> {
        let state = Arc::new(Mutex::new(Window { open: None, waiting: None, disposed: false }));
        Throttle { ctx: self.clone(), window, trailing: true, callback: Arc::new(callback), state }
    }

    /// Wraps `callback` so that it runs once calls have ceased for `delay`, with the last argument.
    pub fn debounce<A: Send + 'static>(
        &self,
        delay: Duration,
        callback: impl Fn(A) + Send + Sync + 'static,
    ) -> Debounce<A> {
        Debounce { ctx: self.clone(), delay, callback: Arc::new(callback), state: Arc::default() }
    }
}

/// A period's ticks; those that nobody waited for are lost.
struct Clock {
    period: Duration,
    #[cfg(not(cordis_shuttle))]
    ticks: Option<tokio::time::Interval>,
}

impl Clock {
    fn new(period: Duration) -> Self {
        // A period of nothing would be refused by the timer and never let others run.
        Clock {
            period: period.max(Duration::from_millis(1)),
            #[cfg(not(cordis_shuttle))]
            ticks: None,
        }
    }

    #[cfg(not(cordis_shuttle))]
    async fn tick(&mut self) {
        let ticks = self.ticks.get_or_insert_with(|| {
            let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + self.period, self.period);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            ticks
        });
        ticks.tick().await;
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
    pub fn leading_only(mut self) -> Self {
        self.trailing = false;
        self
    }

    /// Runs the callback now, or at the end of the running window.
    pub fn call(&self, argument: A) {
        {
            let mut state = self.state.lock();
            if state.open.is_some() {
                let replaced = if self.trailing { state.waiting.replace(argument) } else { Some(argument) };
                drop(state);
                drop(replaced);
                return;
            }
            if !state.disposed {
                state.open = self.ctx.spawn("ctx.throttle()", self.clone().run_window()).ok();
            }
        }
        (self.callback)(argument);
    }

    /// Cancels the waiting call and opens no more windows.
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
        let closes = CloseWindow(self.state.clone());
        loop {
            sleep(self.window).await;
            let Some(argument) = self.state.lock().waiting.take() else { break };
            (self.callback)(argument);
        }
        drop(closes);
    }
}

/// However the window ends, the next call finds it closed.
struct CloseWindow<A>(Arc<Mutex<Window<A>>>);

impl<A> Drop for CloseWindow<A> {
    fn drop(&mut self) {
        let (open, waiting) = {
            let mut state = self.0.lock();
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
    disposed: bool,
}

impl<A: Send + 'static> Debounce<A> {
    /// Runs the callback after the delay, unless it is called again before.
    pub fn call(&self, argument: A) {
        let mut state = self.state.lock();
        if state.disposed {
            return;
        }
        let (delay, callback) = (self.delay, self.callback.clone());
        let task = async move {
            sleep(delay).await;
            callback(argument);
        };
        let next = self.ctx.spawn("ctx.debounce()", task).ok();
        let last = std::mem::replace(&mut state.waiting, next);
        drop(state);
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
