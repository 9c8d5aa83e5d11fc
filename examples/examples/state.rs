//! State is given to a listener by `.with(state)`, which lends it at each call. An `async` listener captures nothing: that
//! is what lets the compiler prove that its future is `Send`. What was given is dropped with the listener.

use std::sync::{Arc, Mutex, PoisonError};

use cordis::{App, BoxError, Context, Emit, Plugin, Serial, define};

/// The degrees that were measured just now.
const MEASURED: Emit<i32> = Emit::new("weather/measured");
/// Somebody asks about the weather so far.
const ASKED: Serial<Question, String> = Serial::new("weather/asked");

#[derive(Debug, PartialEq, Eq)]
enum Question {
    Coldest,
    Warmest,
    Days,
}

/// All degrees so far; shared by the listeners and by whoever mounts the plugin.
#[derive(Default)]
pub struct Log(Mutex<Vec<i32>>);

impl Log {
    fn add(&self, degrees: i32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(degrees);
    }

    fn all(&self) -> Vec<i32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Remembers what is measured and answers questions about it.
pub fn plugin() -> impl Plugin<Config = Arc<Log>> {
    define("weather").run(apply)
}

async fn apply(ctx: &Context, _needs: (), log: &Arc<Log>) -> Result<(), BoxError> {
    // A synchronous listener may capture its state or be given it.
    ctx.on(MEASURED).with(log.clone()).run(|log, degrees| log.add(*degrees))?;
    // An asynchronous one is given it: as a closure ..
    ctx.on(ASKED).with(log.clone()).run(async |log, question| {
        tokio::task::yield_now().await;
        Ok(if *question == Question::Coldest { log.all().iter().min().map(i32::to_string) } else { None })
    })?;
    // .. or as a function; several things go as a tuple.
    ctx.on(ASKED).with((log.clone(), "degrees")).run(warmest)?;
    // One that has to capture boxes its own future.
    let log = log.clone();
    ctx.on(ASKED).run_boxed(move |_| {
        let days = log.all().len();
        Box::pin(async move { Ok(Some(format!("{days} days"))) })
    })?;
    Ok(())
}

async fn warmest(state: &(Arc<Log>, &str), question: &Question) -> Result<Option<String>, BoxError> {
    let (log, unit) = state;
    let max = log.all().into_iter().max().filter(|_| *question == Question::Warmest);
    Ok(max.map(|max| format!("{max} {unit}")))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    let log = Arc::new(Log::default());
    let weather = app.plugin(plugin(), log.clone())?;
    weather.ready().await?;
    // This program, the plugin's configuration and four listeners.
    println!("active: {} owners of the log", Arc::strong_count(&log));
    [12, -3, 20].iter().for_each(|degrees| app.emit(MEASURED, degrees));
    for question in [Question::Coldest, Question::Warmest, Question::Days] {
        println!("  {question:?}? {:?}", app.serial(ASKED, &question).await?);
    }
    weather.dispose().await;
    println!("disposed: {} owner of the log", Arc::strong_count(&log));
    Ok(())
}
