//! The plugin protocol and its plain form, a function.

use crate::{
    BoxError, BoxFuture, Context, Intercept, Key, Needs, UpdateError,
    chain::chain,
    contain::contained,
    keys,
    meta::Configuring,
    name::Name,
    needs::{Conflict, Declared, Satisfied},
    sync::{Arc, Mutex},
};
use std::{
    any::{Any, TypeId, type_name},
    borrow::Cow,
    fmt,
    marker::PhantomData,
};

/// A unit of behaviour that can be mounted, reloaded and removed. Most plugins are a function: see [`define`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a plugin",
    label = "cannot be mounted",
    note = "write `define(\"name\").needs(KEYS).run(apply)` with `async fn apply(ctx: &Context, needs: .., config: &Config) -> Result<(), BoxError>`"
)]
pub trait Plugin: Send + Sync + 'static {
    /// What it is mounted and updated with.
    type Config: Send + Sync + 'static;
    /// The services without which its body does not start.
    type Needs: Needs;

    /// Its name, for people: errors, traces and `inspect()` show it. Empty takes the parent's.
    fn name(&self) -> Cow<'static, str>;

    /// The services it needs.
    fn needs(&self) -> Self::Needs;

    /// The services it provides. With an empty list it may provide anything; otherwise only what is listed.
    fn provides(&self) -> &[&'static str] {
        &[]
    }

    /// Checks a configuration: at each activation (an error makes the fiber Failed) and at `update` (an error leaves the
    /// old one in force).
    ///
    /// # Errors
    /// What is wrong with it.
    fn validate(&self, _config: &Self::Config) -> Result<(), BoxError> {
        Ok(())
    }

    /// The body: registers what the plugin does through `ctx`. Runs once for each activation, never inside of the call
    /// that mounts it.
    ///
    /// # Errors
    /// Makes the fiber Failed; what was registered is undone.
    ///
    /// # Cancel safety
    /// It is dropped at its next await when the fiber is disposed or updated, or when a need is withdrawn; what it has
    /// registered is undone. What needs more than a drop belongs into an effect before the next await.
    fn apply(
        &self,
        ctx: &Context,
        needs: <Self::Needs as Needs>::Out,
        config: &Self::Config,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;

    #[doc(hidden)]
    fn intercepts(&self) -> &[Level] {
        &[]
    }
}

/// One level of intercepted configuration that a plugin brings along.
#[doc(hidden)]
pub(crate) type Level = (LevelName, Arc<dyn Any + Send + Sync>);

#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct LevelName(pub(crate) Name);

/// Begins the definition of a plugin that is a function. An empty name takes the parent's.
///
/// ```
/// use cordis::{BoxError, Context, Handle, Key, Plugin, define};
///
/// const GREETING: Key<String> = Key::new("greeting");
///
/// pub fn plugin() -> impl Plugin<Config = ()> {
///     define("door").needs(GREETING).run(apply)
/// }
///
/// // Without needs the second argument is `_needs: ()`.
/// async fn apply(ctx: &Context, greeting: Handle<String>, _config: &()) -> Result<(), BoxError> {
///     println!("{}", *greeting.get()?);
///     ctx.effect("close the door", async || println!("closed"))?;
///     Ok(())
/// }
/// # let _ = plugin();
/// ```
pub fn define(name: impl Into<Cow<'static, str>>) -> Define {
    Define { name: name.into(), needs: (), parts: None }
}

/// What most plugins do without.
#[derive(Default)]
struct Parts {
    provides: Vec<&'static str>,
    intercepts: Vec<Level>,
    validate: Option<Validate>,
}

type Validate = Box<dyn Fn(&dyn Any) -> Result<(), BoxError> + Send + Sync>;

/// A plugin in the making: see [`define`].
#[must_use = "a plugin is complete with `.run(..)`"]
pub struct Define<N = ()> {
    name: Cow<'static, str>,
    needs: N,
    parts: Option<Box<Parts>>,
}

impl Define<()> {
    /// Declares the services it needs: a key, `key.optional()`, or a tuple of up to eight.
    pub fn needs<N: Needs>(self, needs: N) -> Define<N> {
        Define { name: self.name, needs, parts: self.parts }
    }
}

impl<N: Needs> Define<N> {
    /// Declares a service that it provides; providing any other is an error from then on.
    pub fn provides<T: ?Sized + Send + Sync + 'static>(mut self, key: Key<T>) -> Self {
        self.parts.get_or_insert_default().provides.push(key.name());
        self
    }

    /// Hangs configuration for a service on the plugin's context, above what its parent hangs there.
    pub fn intercept<C: Send + Sync + 'static>(mut self, key: Intercept<C>, config: C) -> Self {
        self.parts.get_or_insert_default().intercepts.push((LevelName(key.name), Arc::new(config)));
        self
    }

    /// Checks configurations: see [`Plugin::validate`].
    pub fn validate<C: 'static>(
        mut self,
        validate: impl Fn(&C) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.parts.get_or_insert_default().validate =
            Some(Box::new(move |config| match config.downcast_ref() {
                Some(config) => validate(config),
                None => Err(format!(
                    "`validate` takes a `{}`, which is not the plugin's Config",
                    type_name::<C>()
                )
                .into()),
            }));
        self
    }

    /// Completes the plugin with its body: an `async fn` item, or an `async` closure that captures nothing.
    pub fn run<C, F>(self, body: F) -> FnPlugin<N, C, F>
    where
        C: Send + Sync + 'static,
        F: AsyncFn(&Context, N::Out, &C) -> Result<(), BoxError>, // ctx, needs (`_: ()` for none), &config
        F: for<'a> Apply<'a, N::Out, C>, // hand state over as part of the config, not by capture
    {
        FnPlugin { name: self.name, needs: self.needs, parts: self.parts, body, _config: PhantomData }
    }

    /// Completes the plugin with a body that boxes its own future and so may capture what it likes.
    pub fn run_boxed<C, F>(self, body: F) -> FnPlugin<N, C, F>
    where
        C: Send + Sync + 'static,
        F: for<'a> Fn(&'a Context, N::Out, &'a C) -> BoxFuture<'a, Result<(), BoxError>>
            + Send
            + Sync
            + 'static,
    {
        FnPlugin { name: self.name, needs: self.needs, parts: self.parts, body, _config: PhantomData }
    }
}

impl<N: Needs> fmt::Debug for Define<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "Define", &self.name, &self.needs, self.parts.as_deref())
    }
}

/// A plugin's body: an `async Fn(&Context, N, &C) -> Result<(), BoxError>` whose future is `Send`.
#[diagnostic::on_unimplemented(
    message = "not the body of a plugin: its future is not `Send`, or its arguments do not fit",
    label = "not usable as a plugin's body",
    note = "the body is `async fn(ctx: &Context, needs: .., config: &Config) -> Result<(), BoxError>`, and what is declared is what arrives",
    note = "hand state over as part of the config instead of capturing it, or use `.run_boxed(..)`"
)]
pub trait Apply<'a, N, C: 'a>: Send + Sync + 'static {
    #[doc(hidden)]
    type Fut: Future<Output = Result<(), BoxError>> + Send + 'a;
    #[doc(hidden)]
    fn apply_to(&self, ctx: &'a Context, needs: N, config: &'a C) -> Self::Fut;
}

impl<'a, N, C: 'a, F, Fut> Apply<'a, N, C> for F
where
    F: Fn(&'a Context, N, &'a C) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), BoxError>> + Send + 'a,
{
    type Fut = Fut;

    fn apply_to(&self, ctx: &'a Context, needs: N, config: &'a C) -> Fut {
        self(ctx, needs, config)
    }
}

/// A plugin that is a function: see [`define`].
#[must_use = "a plugin does nothing before it is mounted: `ctx.plugin(plugin, config)`"]
pub struct FnPlugin<N, C, F> {
    name: Cow<'static, str>,
    needs: N,
    parts: Option<Box<Parts>>,
    body: F,
    _config: PhantomData<fn(C)>,
}

impl<N, C, F> Plugin for FnPlugin<N, C, F>
where
    N: Needs,
    C: Send + Sync + 'static,
    F: for<'a> Apply<'a, N::Out, C>,
{
    type Config = C;
    type Needs = N;

    fn name(&self) -> Cow<'static, str> {
        self.name.clone()
    }

    fn needs(&self) -> N {
        self.needs
    }

    fn provides(&self) -> &[&'static str] {
        self.parts.as_ref().map_or(&[], |parts| &parts.provides)
    }

    fn validate(&self, config: &C) -> Result<(), BoxError> {
        self.parts
            .as_ref()
            .and_then(|parts| parts.validate.as_ref())
            .map_or(Ok(()), |validate| validate(config))
    }

    async fn apply(&self, ctx: &Context, needs: N::Out, config: &C) -> Result<(), BoxError> {
        self.body.apply_to(ctx, needs, config).await
    }

    fn intercepts(&self) -> &[Level] {
        self.parts.as_ref().map_or(&[], |parts| &parts.intercepts)
    }
}

impl<N: Needs, C, F> fmt::Debug for FnPlugin<N, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "FnPlugin", &self.name, &self.needs, self.parts.as_deref())
    }
}

/// What a plugin that is a function shows of itself: names, no values.
fn describe<N: Needs>(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    name: &str,
    needs: &N,
    parts: Option<&Parts>,
) -> fmt::Result {
    let mut needed = Vec::new();
    needs.names(&mut needed);
    let needed: Vec<&str> = needed.into_iter().map(|(name, _)| name).collect();
    f.debug_struct(kind)
        .field("name", &name)
        .field("needs", &needed)
        .field("provides", &parts.map_or(&[][..], |parts| &parts.provides))
        .finish_non_exhaustive()
}

/// Which plugin a fiber runs: fibers of one plugin type and name count as instances of one plugin.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PluginId {
    pub(crate) kind: TypeId,
    pub(crate) name: Cow<'static, str>,
}

impl PluginId {
    /// The plugin's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The identity of `plugin`.
    #[must_use]
    pub fn of<P: Plugin>(plugin: &P) -> Self {
        PluginId { kind: TypeId::of::<P>(), name: plugin.name() }
    }
}

/// A mounted plugin without its types.
pub(crate) trait Mounted: Send + Sync {
    fn kind(&self) -> TypeId;
    fn provides(&self) -> &[&'static str];
    /// Makes the body's future. Under the fiber lock; runs no foreign code, which starts at the first poll.
    fn load(
        self: Arc<Self>,
        ctx: Context,
        satisfied: Satisfied<'_>,
    ) -> Option<BoxFuture<'static, Result<(), BoxError>>>;
    /// Checks type and content of a new configuration; `given` is its type's name.
    fn accepts(
        &self,
        config: &(dyn Any + Send + Sync),
        given: &'static str,
        plugin: String,
    ) -> Result<(), UpdateError>;
    /// Takes over a configuration that was accepted; gives the old one, whose drop is foreign code.
    fn configure(&self, config: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn Any + Send + Sync>>;
}

pub(crate) struct Mount<P: Plugin> {
    plugin: P,
    config: Mutex<Arc<P::Config>>,
    // Asked for once, here: a plugin's own methods are foreign code and do not run under a lock.
    provides: Box<[&'static str]>,
}

impl<P: Plugin> Mount<P> {
    pub(crate) fn new(plugin: P, config: P::Config) -> Self {
        let provides = plugin.provides().into();
        Mount { plugin, config: Mutex::new(Arc::new(config)), provides }
    }

    pub(crate) fn name(&self) -> Cow<'static, str> {
        self.plugin.name()
    }

    pub(crate) fn declare(&self, declared: &mut Declared<'_>) -> Result<(), Conflict> {
        self.plugin.needs().declare(declared)
    }

    pub(crate) fn intercepts(&self) -> Vec<(Name, Arc<dyn Any + Send + Sync>)> {
        self.plugin.intercepts().iter().map(|(name, level)| (name.0, level.clone())).collect()
    }

    /// The configuration of this activation, after `internal/config`.
    async fn resolve(&self, ctx: &Context) -> Result<Arc<P::Config>, BoxError> {
        let config = self.config.lock().clone();
        if ctx.shared().meta.config.len() == 0 {
            return Ok(config);
        }
        let mut configuring = Configuring { fiber: ctx.fiber(), config };
        ctx.waterfall(keys::CONFIG, &mut configuring, &(), async |_: &(), _: &mut Configuring| Ok(()))
            .await??;
        configuring.config.downcast().map_err(|_| {
            format!(
                "a listener of `internal/config` gave something else than a `{}`",
                type_name::<P::Config>()
            )
            .into()
        })
    }
}

impl<P: Plugin> Mounted for Mount<P> {
    fn kind(&self) -> TypeId {
        TypeId::of::<P>()
    }

    fn provides(&self) -> &[&'static str] {
        &self.provides
    }

    fn load(
        self: Arc<Self>,
        ctx: Context,
        mut satisfied: Satisfied<'_>,
    ) -> Option<BoxFuture<'static, Result<(), BoxError>>> {
        let needs = P::Needs::take(&mut satisfied)?;
        Some(Box::pin(async move {
            let config = self.resolve(&ctx).await?;
            self.plugin.validate(&config).map_err(|e| format!("invalid configuration: {}", chain(&*e)))?;
            self.plugin.apply(&ctx, needs, &config).await
        }))
    }

    fn accepts(
        &self,
        config: &(dyn Any + Send + Sync),
        given: &'static str,
        plugin: String,
    ) -> Result<(), UpdateError> {
        match config.downcast_ref::<P::Config>() {
            Some(config) => {
                let checked = contained(|| self.plugin.validate(config));
                let checked = checked.unwrap_or_else(|panic| Err(format!("panicked: {panic}").into()));
                checked.map_err(|source| UpdateError::Invalid { plugin, source })
            }
            None => Err(UpdateError::Type { plugin, expected: type_name::<P::Config>(), given }),
        }
    }

    fn configure(&self, config: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn Any + Send + Sync>> {
        let config: Arc<P::Config> = config.downcast().ok()?;
        let old = std::mem::replace(&mut *self.config.lock(), config);
        Some(old)
    }
}
