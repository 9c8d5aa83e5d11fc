//! Random programs of mounts, services, disposals, updates and dispatches against a plain model of who is active and
//! what was undone. One thread and no clock: a program always runs the same way, so a failure shrinks.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Effect, Emit, Fiber, Handle, Key, State, define};
use proptest::prelude::*;
use std::sync::Arc;
use support_lifecycle::{Log, counts};
use tokio::{runtime::Builder, task::yield_now};

const PING: Emit<()> = Emit::new("ping");

/// Each plugin provides the key of its own number; the root provides the last ones.
const OWN: usize = 24;
const KEYS: [Key<u32>; OWN + 4] = {
    const NAMES: [&str; OWN + 4] = [
        "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "k11", "k12", "k13", "k14", "k15",
        "k16", "k17", "k18", "k19", "k20", "k21", "k22", "k23", "r0", "r1", "r2", "r3",
    ];
    let mut keys = [Key::new(NAMES[0]); OWN + 4];
    let mut i = 0;
    while i < OWN + 4 {
        keys[i] = Key::new(NAMES[i]);
        i += 1;
    }
    keys
};

#[derive(Clone, Debug)]
enum Op {
    /// Below an active plugin (or the root), with a need.
    Mount {
        parent: usize,
        need: Option<usize>,
        optional: bool,
        fails: bool,
        yields: u8,
    },
    Provide(usize),
    Withdraw(usize),
    Dispose(usize),
    Update {
        plugin: usize,
        fails: bool,
    },
    Restart(usize),
    Emit,
}

fn op(optional: bool) -> impl Strategy<Value = Op> {
    let key = prop_oneof![0..6usize, OWN..OWN + 4];
    let optional = if optional { any::<bool>().boxed() } else { Just(false).boxed() };
    let fails = prop::bool::weighted(0.2);
    prop_oneof![
        5 => (0..8usize, prop::option::weighted(0.7, key), optional, fails, 0..3u8)
            .prop_map(|(parent, need, optional, fails, yields)| Op::Mount { parent, need, optional, fails, yields }),
        2 => (OWN..OWN + 4).prop_map(Op::Provide),
        2 => (OWN..OWN + 4).prop_map(Op::Withdraw),
        1 => (0..8usize).prop_map(Op::Dispose),
        2 => (0..8usize, fails).prop_map(|(plugin, fails)| Op::Update { plugin, fails }),
        1 => (0..8usize).prop_map(Op::Restart),
        1 => Just(Op::Emit),
    ]
}

/// What is expected of one plugin.
#[derive(Clone, Debug)]
struct Expected {
    parent: Option<usize>,
    need: Option<usize>,
    optional: bool,
    fails: bool,
    state: State,
    /// Which act of providing it uses and which its own is, 0 for none.
    used: u32,
    act: u32,
}

#[derive(Default)]
struct Model {
    plugins: Vec<Expected>,
    root: [u32; 4],
    acts: u32,
    log: Vec<String>,
}

impl Model {
    fn act(&self, key: usize) -> u32 {
        match key.checked_sub(OWN) {
            Some(root) => self.root[root],
            None => self
                .plugins
                .get(key)
                .map_or(0, |plugin| if plugin.state == State::Active { plugin.act } else { 0 }),
        }
    }

    fn next_act(&mut self) -> u32 {
        self.acts += 1;
        self.acts
    }

    fn unload(&mut self, i: usize, to: State) {
        if self.plugins[i].state == State::Active {
            self.log.push(format!("down {i}"));
        }
        self.plugins[i].state = to;
        for child in 0..self.plugins.len() {
            if self.plugins[child].parent == Some(i) && self.plugins[child].state != State::Disposed {
                self.unload(child, State::Disposed);
            }
        }
    }

    /// Unloads whose needs have changed, loads whose needs are met, until nothing changes.
    fn settle(&mut self) {
        loop {
            let needed = |model: &Model, i: usize| model.plugins[i].need.map_or(0, |key| model.act(key));
            let stale = (0..self.plugins.len()).find(|i| {
                self.plugins[*i].state == State::Active && needed(self, *i) != self.plugins[*i].used
            });
            if let Some(i) = stale {
                self.unload(i, State::Pending);
                continue;
            }
            let ready = (0..self.plugins.len()).find(|i| {
                let plugin = &self.plugins[*i];
                plugin.state == State::Pending
                    && (plugin.need.is_none() || plugin.optional || needed(self, *i) != 0)
            });
            let Some(i) = ready else { return };
            let (used, act) = (needed(self, i), self.next_act());
            let plugin = &mut self.plugins[i];
            plugin.state = if plugin.fails { State::Failed } else { State::Active };
            (plugin.used, plugin.act) = (used, act);
            if !plugin.fails {
                self.log.push(format!("up {i}"));
            }
        }
    }

    fn active(&self) -> Vec<usize> {
        (0..self.plugins.len()).filter(|i| self.plugins[*i].state == State::Active).collect()
    }
}

#[derive(Clone)]
struct Config {
    number: usize,
    fails: bool,
    yields: u8,
    log: Log,
}

async fn load(ctx: &Context, config: &Config) -> Result<(), BoxError> {
    let Config { number, fails, yields, log } = config.clone();
    let heard = log.clone();
    ctx.on(PING).run(move |()| heard.add(format!("ping {number}")))?;
    ctx.provide(KEYS[number], Arc::new(0))?;
    for _ in 0..yields {
        yield_now().await;
    }
    if fails {
        return Err("asked to".into());
    }
    log.add(format!("up {number}"));
    ctx.effect("down", async move || {
        for _ in 0..yields {
            yield_now().await;
        }
        log.add(format!("down {number}"));
    })?;
    Ok(())
}

fn mount(ctx: &Context, need: Option<usize>, optional: bool, config: Config) -> Fiber {
    let mounted = match need.map(|key| KEYS[key]) {
        None => {
            ctx.plugin(define("p").run(async |ctx: &Context, _: (), c: &Config| load(ctx, c).await), config)
        }
        Some(key) if optional => ctx.plugin(
            define("p")
                .needs(key.optional())
                .run(async |ctx: &Context, _: Option<Handle<u32>>, c: &Config| load(ctx, c).await),
            config,
        ),
        Some(key) => ctx.plugin(
            define("p").needs(key).run(async |ctx: &Context, _: Handle<u32>, c: &Config| load(ctx, c).await),
            config,
        ),
    };
    mounted.unwrap()
}

/// The real thing beside its model.
struct Program {
    app: App,
    log: Log,
    fibers: Vec<(Fiber, u8)>,
    services: [Option<Effect>; 4],
    model: Model,
    /// Whether what was done is waited for.
    waits: bool,
    /// Whether there are needs that may be absent.
    optional: bool,
}

impl Program {
    fn new(waits: bool, optional: bool) -> Self {
        let (app, log) = (App::new().unwrap(), Log::new());
        let (fibers, services, model) = (Vec::new(), Default::default(), Model::default());
        Program { app, log, fibers, services, model, waits, optional }
    }

    async fn run(&mut self, op: &Op) {
        match *op {
            Op::Mount { parent, need, optional, fails, yields } => {
                let number = self.fibers.len();
                if number == OWN {
                    return;
                }
                // Below plugins only when it is certain that they are active; the root otherwise.
                let below = |i: &usize| self.waits && self.model.plugins[*i].state == State::Active;
                let parent = Some(parent).filter(|i| *i < number).filter(below);
                // A circle with a need that may be absent in it would reload itself for ever.
                let need = need.filter(|key| !self.optional || *key < number || *key >= OWN);
                let optional = optional && need.is_some();
                let config = Config { number, fails, yields, log: self.log.clone() };
                let ctx = parent.map_or_else(|| self.app.root(), |i| self.fibers[i].0.context());
                self.fibers.push((mount(&ctx, need, optional, config), yields));
                let state = State::Pending;
                self.model.plugins.push(Expected { parent, need, optional, fails, state, used: 0, act: 0 });
            }
            Op::Provide(key) => {
                let service = &mut self.services[key - OWN];
                if service.is_some() {
                    return;
                }
                // What is still being withdrawn is in the way of the next one.
                let Ok(effect) = self.app.provide(KEYS[key], Arc::new(1)) else { return };
                *service = Some(effect);
                self.model.root[key - OWN] = self.model.next_act();
            }
            Op::Withdraw(key) => {
                let Some(effect) = self.services[key - OWN].take() else { return };
                effect.cancel();
                self.model.root[key - OWN] = 0;
            }
            Op::Dispose(i) => {
                let Some((fiber, _)) = self.fibers.get(i) else { return };
                fiber.cancel();
                if self.model.plugins[i].state != State::Disposed {
                    self.model.unload(i, State::Disposed);
                }
            }
            Op::Update { plugin: i, fails } => {
                let Some((fiber, yields)) = self.fibers.get(i) else { return };
                let config = Config { number: i, fails, yields: *yields, log: self.log.clone() };
                let fiber = fiber.clone();
                tokio::spawn(async move { fiber.update(config).await });
                if self.model.plugins[i].state != State::Disposed {
                    self.model.plugins[i].fails = fails;
                    self.model.unload(i, State::Pending);
                }
            }
            Op::Restart(i) => {
                let Some((fiber, _)) = self.fibers.get(i) else { return };
                let fiber = fiber.clone();
                tokio::spawn(async move { fiber.restart().await });
                if self.model.plugins[i].state == State::Active {
                    self.model.unload(i, State::Pending);
                }
            }
            Op::Emit if self.waits => {
                self.app.emit(PING, &());
                let heard: Vec<String> = self.model.active().iter().map(|i| format!("ping {i}")).collect();
                self.model.log.extend(heard);
            }
            Op::Emit => self.app.emit(PING, &()),
        }
        self.model.settle();
        if self.waits {
            self.quiet().await;
        }
    }

    /// Lets the tasks that were spawned start, and waits for what they started.
    async fn quiet(&self) {
        yield_now().await;
        yield_now().await;
        self.app.quiet().await;
    }

    fn states(&self) -> (Vec<State>, Vec<State>) {
        let real = self.fibers.iter().map(|(fiber, _)| fiber.state()).collect();
        (real, self.model.plugins.iter().map(|plugin| plugin.state).collect())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let (real, expected) = self.states();
        prop_assert_eq!(real, expected);
        let active = self.model.active();
        prop_assert_eq!(self.app.listeners(PING), active.len());
        for (key, service) in KEYS.iter().enumerate() {
            prop_assert_eq!(self.app.get(*service).is_some(), self.model.act(key) != 0, "service {}", key);
        }
        let alive = self.model.plugins.iter().filter(|plugin| plugin.state != State::Disposed).count();
        let provided = self.services.iter().flatten().count();
        // One effect for each plugin, three more while it is active, and what the root provides.
        prop_assert_eq!(counts(&self.app.inspect().fiber), (1 + alive, alive + 3 * active.len() + provided));
        Ok(())
    }

    /// How often each plugin came up less how often it went down: whether it is up.
    fn check_balance(&self, log: &[String]) -> Result<(), TestCaseError> {
        for i in 0..self.fibers.len() {
            let count = |what: &str| log.iter().filter(|line| **line == format!("{what} {i}")).count();
            let up = self.model.plugins[i].state == State::Active;
            prop_assert_eq!(count("up"), count("down") + usize::from(up), "plugin {} in {:?}", i, log);
        }
        Ok(())
    }

    async fn end(mut self) -> Result<(), TestCaseError> {
        self.services = Default::default();
        prop_assert_eq!(self.app.fiber().dispose().await, Disposed::default());
        prop_assert_eq!(counts(&self.app.inspect().fiber), (1, 0));
        prop_assert_eq!(self.app.listeners(PING), 0);
        prop_assert!(self.fibers.iter().all(|(fiber, _)| fiber.state() == State::Disposed));
        Ok(())
    }
}

fn on_one_thread(test: impl Future<Output = Result<(), TestCaseError>>) -> Result<(), TestCaseError> {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(test)
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

fn settings() -> ProptestConfig {
    ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(settings())]

    // spec: design/P1, design/P2
    #[test]
    fn after_each_step_the_same_plugins_are_active_and_the_same_ones_came_and_went(
        ops in prop::collection::vec(op(false), 1..40),
    ) {
        on_one_thread(async {
            let mut program = Program::new(true, false);
            for op in &ops {
                program.run(op).await;
                program.check()?;
                let expected = sorted(std::mem::take(&mut program.model.log));
                prop_assert_eq!(sorted(program.log.take()), expected, "after {:?}", op);
            }
            program.end().await
        })?;
    }

    // spec: design/P1
    #[test]
    fn with_needs_that_may_be_absent_the_same_plugins_are_active_after_each_step(
        ops in prop::collection::vec(op(true), 1..40),
    ) {
        on_one_thread(async {
            let mut program = Program::new(true, true);
            let mut log = Vec::new();
            for op in &ops {
                program.run(op).await;
                program.check()?;
                log.extend(program.log.take());
                program.check_balance(&log)?;
            }
            program.end().await
        })?;
    }

    // spec: design/P1
    #[test]
    fn a_burst_of_steps_that_nobody_waits_for_ends_as_if_they_had_been_waited_for(
        ops in prop::collection::vec(op(true), 1..40),
    ) {
        on_one_thread(async {
            let mut program = Program::new(false, true);
            for op in &ops {
                program.run(op).await;
            }
            program.quiet().await;
            let log = program.log.take();
            // One that never had its need may not have had the chance to fail.
            for i in 0..program.fibers.len() {
                let (real, expected) = (program.fibers[i].0.state(), program.model.plugins[i].state);
                let plugin = &program.model.plugins[i];
                if plugin.fails && [real, expected].iter().all(|s| matches!(s, State::Pending | State::Failed)) {
                    program.model.plugins[i].state = real;
                }
            }
            program.check()?;
            program.check_balance(&log)?;
            program.end().await
        })?;
    }
}
