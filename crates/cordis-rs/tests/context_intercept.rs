//! Configuration that callers hang on their contexts and services read from them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_services;

use cordis::{App, BoxError, Context, Handle, Intercept, Key, Merge, State, define};
use std::sync::Arc;
use support_services::{Log, on_both_flavours};

/// What a formatter can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Options {
    a: Option<u32>,
    b: Option<u32>,
    c: Option<u32>,
    d: Option<u32>,
}

impl Merge for Options {
    fn merge(&mut self, nearer: &Self) {
        self.a = nearer.a.or(self.a);
        self.b = nearer.b.or(self.b);
        self.c = nearer.c.or(self.c);
        self.d = nearer.d.or(self.d);
    }
}

/// Configuration that is not laid over but collected.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tags(Vec<&'static str>);

impl Merge for Tags {
    fn merge(&mut self, nearer: &Self) {
        self.0.extend(&nearer.0);
    }
}

const FORMAT: Intercept<Options> = Intercept::new("format");
const TAGS: Intercept<Tags> = Intercept::new("tags");
const FORMATTER: Key<Formatter> = Key::new("format");

/// A service that is configured on its own, by the caller's context, and for one call.
struct Formatter {
    own: Options,
}

impl Formatter {
    fn options(&self, caller: &Context, call: Option<&Options>) -> Options {
        caller.resolve(FORMAT, self.own, call)
    }
}

fn a(a: u32) -> Options {
    Options { a: Some(a), ..Options::default() }
}

fn b(b: u32) -> Options {
    Options { b: Some(b), ..Options::default() }
}

fn tag(name: &'static str) -> Tags {
    Tags(vec![name])
}

on_both_flavours! {
    // spec: cordis-core/C13
    #[test]
    async fn intercepts_stack_and_each_level_keeps_its_own_value() {
        let app = App::new().unwrap();
        let outer = app.intercept(FORMAT, a(1));
        let other = outer.intercept(TAGS, tag("x"));
        let inner = other.intercept(FORMAT, a(2));
        let beside = outer.intercept(FORMAT, a(3));
        let levels = |ctx: &Context| ctx.intercepts(FORMAT).iter().map(|level| **level).collect::<Vec<_>>();
        assert_eq!(levels(&app), []);
        assert_eq!(levels(&outer), [a(1)]);
        assert_eq!(levels(&other), [a(1)]);
        assert_eq!(levels(&inner), [a(1), a(2)]);
        assert_eq!(levels(&beside), [a(1), a(3)]);
        assert_eq!(inner.intercepts(TAGS), [Arc::new(tag("x"))]);
    }

    // spec: cordis-core/C14
    #[test]
    async fn levels_are_laid_over_one_another_from_the_base_to_the_head() {
        let app = App::new().unwrap();
        let near = app
            .intercept(FORMAT, Options { a: Some(2), b: Some(2), c: Some(2), d: None })
            .intercept(TAGS, tag("skipped by the other key"))
            .isolate(FORMATTER)
            .intercept(FORMAT, Options { b: Some(3), c: Some(3), ..Options::default() });
        let base = Options { a: Some(1), b: Some(1), c: Some(1), d: Some(1) };
        let head = Options { c: Some(4), ..Options::default() };
        let all = Options { a: Some(2), b: Some(3), c: Some(4), d: Some(1) };
        assert_eq!(near.resolve(FORMAT, base, Some(&head)), all);
        assert_eq!(near.resolve(FORMAT, base, None), Options { c: Some(3), ..all });
        assert_eq!(app.resolve(FORMAT, base, None), base);
        // The configuration's own way of merging is what counts.
        let tagged = near.intercept(TAGS, tag("near"));
        assert_eq!(
            tagged.resolve(TAGS, tag("base"), Some(&tag("head"))),
            Tags(vec!["base", "skipped by the other key", "near", "head"])
        );
    }

    // spec: cordis-core/C15
    #[test]
    async fn a_plugin_brings_a_level_of_its_own_on_top_of_its_parents() {
        async fn apply(ctx: &Context, _: Handle<Formatter>, log: &Log) -> Result<(), BoxError> {
            let levels: Vec<_> = ctx.intercepts(FORMAT).iter().map(|level| level.a).collect();
            log.add(format!("{} {levels:?} {:?}", ctx.fiber().name(), ctx.intercepts(TAGS)));
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        app.provide(FORMATTER, Arc::new(Formatter { own: a(0) })).unwrap();
        let parent = app.intercept(FORMAT, a(1));
        let with = define("with").intercept(FORMAT, a(2)).needs(FORMATTER).intercept(FORMAT, a(3)).run(apply);
        let without = define("without").needs(FORMATTER).run(apply);
        let with = parent.plugin(with, log.clone()).unwrap();
        let without = parent.plugin(without, log.clone()).unwrap();
        assert_eq!(with.ready().await.unwrap(), State::Active);
        assert_eq!(without.ready().await.unwrap(), State::Active);
        let mut lines = log.take();
        lines.sort();
        assert_eq!(lines, ["with [Some(1), Some(2), Some(3)] []", "without [Some(1)] []"]);
        assert_eq!(parent.intercepts(FORMAT).len(), 1);
        assert_eq!(with.context().intercepts(FORMAT).len(), 3);
    }

    // spec: cordis-core/C16
    #[test]
    async fn one_service_behaves_as_each_callers_context_says() {
        async fn apply(ctx: &Context, formatter: Handle<Formatter>, log: &Log) -> Result<(), BoxError> {
            log.add(format!("{} {:?}", ctx.fiber().name(), formatter.get()?.options(ctx, None)));
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        app.provide(FORMATTER, Arc::new(Formatter { own: a(1) })).unwrap();
        let plain = app.plugin(define("plain").needs(FORMATTER).run(apply), log.clone()).unwrap();
        plain.ready().await.unwrap();
        let told = app.intercept(FORMAT, b(2));
        let told = told.plugin(define("told").needs(FORMATTER).run(apply), log.clone()).unwrap();
        told.ready().await.unwrap();
        let both = Options { b: Some(2), ..a(1) };
        assert_eq!(log.take(), [format!("plain {:?}", a(1)), format!("told {both:?}")]);
    }

    // spec: cordis-core/C118, cordis-core/C120
    #[test]
    async fn the_configuration_of_a_service_its_caller_and_the_call_come_together() {
        let app = App::new().unwrap();
        app.provide(FORMATTER, Arc::new(Formatter { own: a(1) })).unwrap();
        let handle = app.get(FORMATTER).unwrap();
        let formatter = handle.get().unwrap();
        let told = app.intercept(FORMAT, b(2));
        let (c, d) =
            (Options { c: Some(3), ..Options::default() }, Options { d: Some(4), ..Options::default() });
        assert_eq!(formatter.options(&app, None), a(1));
        assert_eq!(formatter.options(&told, None), Options { b: Some(2), ..a(1) });
        assert_eq!(formatter.options(&app, Some(&c)), Options { c: Some(3), ..a(1) });
        assert_eq!(formatter.options(&told, Some(&d)), Options { b: Some(2), d: Some(4), ..a(1) });
    }
}

// spec: cordis-core/C14
#[tokio::test(start_paused = true)]
async fn a_key_of_the_same_name_with_another_type_reads_its_own_levels_only() {
    const NUMBERS: Intercept<u32> = Intercept::new("format");
    let app = App::new().unwrap();
    let ctx = app.intercept(FORMAT, a(1)).intercept(NUMBERS, 7).intercept(FORMAT, a(2));
    assert_eq!(ctx.intercepts(NUMBERS), [Arc::new(7)]);
    assert_eq!(ctx.resolve(FORMAT, Options::default(), None), a(2));
}
