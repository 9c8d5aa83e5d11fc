//! What one would write by hand instead of a dispatch: no removal, no containment, no owner.

use std::sync::Arc;

use cordis::BoxFuture;

/// Listeners of a synchronous event.
pub type Observers = Vec<Arc<dyn Fn(&u64) + Send + Sync>>;

/// Listeners that are asked one after another or all at once.
pub type Responders = Vec<Arc<dyn for<'a> Fn(&'a u64) -> BoxFuture<'a, Option<u64>> + Send + Sync>>;

/// Asks until one answers.
pub async fn ask_in_turn(responders: &Responders, payload: &u64) -> Option<u64> {
    for responder in responders {
        if let Some(answer) = responder(payload).await {
            return Some(answer);
        }
    }
    None
}

/// Starts all, then waits for each: the future of every responder is kept until all have started.
pub async fn tell_all(responders: &Responders, payload: &u64) {
    let started: Vec<_> = responders.iter().map(|responder| responder(payload)).collect();
    for future in started {
        future.await;
    }
}

/// A listener of a chain.
pub type Wrapper = Arc<dyn for<'a> Fn(&'a mut u64, Rest<'a>) -> BoxFuture<'a, u64> + Send + Sync>;

/// A chain of boxed futures around an innermost step.
pub struct Chain {
    wrappers: Vec<Wrapper>,
}

impl Chain {
    /// A chain of `length` listeners that touch the arguments and pass them on.
    pub fn of(length: usize) -> Self {
        let wrapper = |_| -> Wrapper {
            Arc::new(|args, rest| {
                Box::pin(async move {
                    *args += 1;
                    rest.run(args).await
                })
            })
        };
        Self { wrappers: (0..length).map(wrapper).collect() }
    }

    /// Runs the chain around `innermost`.
    pub fn run<'a>(&'a self, innermost: &'a Innermost, args: &'a mut u64) -> BoxFuture<'a, u64> {
        Rest { wrappers: &self.wrappers, innermost }.run(args)
    }
}

/// The step below all listeners.
pub struct Innermost;

impl Innermost {
    /// Gives what has become of the arguments.
    pub async fn step(&self, args: &mut u64) -> u64 {
        *args
    }
}

/// The rest of a chain.
pub struct Rest<'a> {
    wrappers: &'a [Wrapper],
    innermost: &'a Innermost,
}

impl<'a> Rest<'a> {
    fn run<'b>(self, args: &'b mut u64) -> BoxFuture<'b, u64>
    where
        'a: 'b,
    {
        match self.wrappers.split_first() {
            Some((wrapper, wrappers)) => wrapper(args, Rest { wrappers, innermost: self.innermost }),
            None => Box::pin(self.innermost.step(args)),
        }
    }
}
