//! The root of a plugin tree.

use crate::{Context, Disposed, NoRuntime, State, runtime::Runtime, shared::Shared, sync::Arc};
use serde::Serialize;
use std::{fmt, ops::Deref};

/// A plugin host. It derefs to the root's [`Context`].
///
/// Dropping it undoes what can be undone without waiting and requests the rest of what [`shutdown`](App::shutdown) does;
/// contexts that outlive it are inactive.
///
/// Failures that have no caller to go to (a body's error, a listener's panic) are traced, so that
/// `tracing_subscriber::fmt().init()` shows them, and told to listeners of [`keys::ERROR`](crate::keys::ERROR):
/// `app.on(keys::ERROR).run(|report| eprintln!("{report}"))`.
///
/// ```
/// use cordis::{App, BoxError, Context, Emit, define};
///
/// const GREET: Emit<String> = Emit::new("greet");
///
/// async fn apply(ctx: &Context, _needs: (), _config: &()) -> Result<(), BoxError> {
///     ctx.on(GREET).run(|name| println!("hello {name}"))?;
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let app = App::new()?;
/// let fiber = app.plugin(define("greeter").run(apply), ())?;
/// fiber.ready().await?;
/// app.emit(GREET, &"world".to_owned());
/// fiber.dispose().await;
/// assert_eq!(app.listeners(GREET), 0);
/// # Ok(())
/// # }
/// ```
pub struct App {
    ctx: Context,
}

/// A need that nothing provides at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unmet {
    /// The plugin that waits, as `name#uid`.
    pub plugin: String,
    /// The key's name.
    pub service: String,
    /// What stands in the way: nobody provides it, its provider is not active, or its provider's check says no.
    pub reason: String,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` waits for service `{}`: {}", self.plugin, self.service, self.reason)
    }
}

impl App {
    /// An app on the current tokio runtime, of either flavour.
    ///
    /// # Errors
    /// There is no current runtime, or it has no timers. tokio tells of missing timers only by a panic, which is caught here;
    /// the panic hook shows it all the same.
    pub fn new() -> Result<App, NoRuntime> {
        let shared = Shared::new(Runtime::current()?);
        Ok(App { ctx: shared.root_context() })
    }

    /// Waits until nothing loads or unloads. A body that awaits for ever keeps it from ending.
    pub async fn quiet(&self) {
        self.ctx.shared().quiet().await;
    }

    /// The needs that keep plugins waiting.
    #[must_use]
    pub fn check(&self) -> Vec<Unmet> {
        let fibers = self.ctx.shared().fibers.lock();
        let mut unmet = Vec::new();
        let mut waiting: Vec<_> = fibers.iter().filter(|data| data.state() == State::Pending).collect();
        waiting.sort_by_key(|data| data.cell.uid);
        for data in waiting {
            for need in data.needs.iter().filter(|need| !need.optional) {
                let provided = fibers.slots.get(&need.slot.id()).and_then(|slot| slot.provided.as_ref());
                let reason = match provided {
                    None => match fibers.iter().find(|other| other.declares(need.slot.name())) {
                        Some(other) if other.cell.uid == data.cell.uid => {
                            "it would provide it itself and so waits for itself; another plugin has to provide it".into()
                        }
                        Some(other) => {
                            format!("`{}` would provide it and is {}", other.cell.label(), other.state())
                        }
                        None => "nothing provides it; mount a plugin that does".to_owned(),
                    },
                    Some(provided) if !provided.is_active() => {
                        format!("its provider `{}` is {}", provided.owner().label(), provided.owner().state())
                    }
                    Some(provided) => {
                        let verdicts = data.rare.as_ref().map_or(&[][..], |rare| &rare.verdicts);
                        if provided.check().is_none() || verdicts.contains(&(provided.id(), true)) {
                            continue;
                        }
                        format!("the check of its provider `{}` says no", provided.owner().label())
                    }
                };
                let service = need.slot.name().to_owned();
                unmet.push(Unmet { plugin: data.cell.label(), service, reason });
            }
        }
        unmet
    }

    /// Unloads everything, newest first, the root last, and waits for quiet. Afterwards all contexts are inactive.
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting.
    pub async fn shutdown(&self) -> Disposed {
        self.ctx.shared().fibers.lock().shutting_down = true;
        self.ctx.fiber().dispose().await
    }
}

impl Deref for App {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.ctx
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let shared: &Arc<Shared> = self.ctx.shared();
        shared.fibers.lock().shutting_down = true;
        shared.request_dispose(shared.root.id);
        shared.help();
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "App({:?})", self.ctx)
    }
}
