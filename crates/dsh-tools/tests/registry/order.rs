//! Random programs of registrations, restrictions and their undoing over a small tree of scopes, against a plain list.

use cordis::{Effect, Scope, ScopeKey};
use dsh_tools::{RegisterError, Restriction};
use proptest::prelude::*;
use proptest::sample::subsequence;

use crate::fixture::{Fixture, marked};

/// Of no scope, or of one of four: each of the first three is below the one before, the fourth stands alone.
type Place = Option<usize>;

const PLACES: [Place; 5] = [None, Some(0), Some(1), Some(2), Some(3)];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
enum Op {
    Register(Place, &'static str),
    Restrict(usize, Option<Vec<&'static str>>, Vec<&'static str>),
    /// Undoes what the entry with this number, counted around, has registered.
    Undo(usize),
    Close(usize),
}

fn place() -> impl Strategy<Value = Place> {
    prop::option::weighted(0.75, 0..4usize)
}

fn op() -> impl Strategy<Value = Op> {
    let names = || subsequence(NAMES.to_vec(), 0..=NAMES.len());
    prop_oneof![
        6 => (place(), prop::sample::select(NAMES.to_vec())).prop_map(|(place, name)| Op::Register(place, name)),
        3 => (0..4usize, prop::option::of(names()), names())
            .prop_map(|(scope, allow, deny)| Op::Restrict(scope, allow, deny)),
        4 => any::<usize>().prop_map(Op::Undo),
        1 => (0..4usize).prop_map(Op::Close),
    ]
}

/// What is registered, in the order in which it came.
#[derive(Clone, Debug)]
struct Entry {
    number: usize,
    place: Place,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Tool(&'static str),
    Restriction(Option<Vec<&'static str>>, Vec<&'static str>),
}

/// The plain list.
#[derive(Default)]
struct Model(Vec<Entry>);

impl Model {
    /// The places whose entries count for `place`, farthest first.
    fn levels(place: Place) -> Vec<Place> {
        match place {
            None => vec![None],
            Some(3) => vec![None, Some(3)],
            Some(scope) => std::iter::once(None).chain((0..=scope).map(Some)).collect(),
        }
    }

    fn tools(&self, place: Place) -> impl Iterator<Item = (&'static str, usize)> {
        self.0.iter().filter_map(move |entry| match entry.kind {
            Kind::Tool(name) if entry.place == place => Some((name, entry.number)),
            _ => None,
        })
    }

    fn admits(&self, place: Place, name: &str) -> bool {
        self.0.iter().filter(|entry| entry.place == place).all(|entry| match &entry.kind {
            Kind::Tool(_) => true,
            Kind::Restriction(allow, deny) => {
                allow.as_ref().is_none_or(|allow| allow.contains(&name)) && !deny.contains(&name)
            }
        })
    }

    fn view(&self, place: Place) -> Vec<(String, String)> {
        let mut view: Vec<(&str, usize)> = Vec::new();
        for level in Self::levels(place) {
            view.retain(|(name, _)| self.admits(level, name));
            for (name, number) in self.tools(level) {
                match view.iter_mut().find(|(seen, _)| *seen == name) {
                    Some(seen) => seen.1 = number,
                    None => view.push((name, number)),
                }
            }
        }
        view.into_iter().map(|(name, number)| (name.to_owned(), number.to_string())).collect()
    }

    fn inherits(&self, place: Place, name: &str) -> bool {
        let levels = Self::levels(place);
        levels[..levels.len() - 1].iter().any(|level| self.tools(*level).any(|(held, _)| held == name))
    }
}

/// The registry beside its model.
struct Both {
    fixture: Fixture,
    keys: Vec<ScopeKey>,
    scopes: Vec<Scope>,
    model: Model,
    effects: Vec<(usize, Effect)>,
    next: usize,
}

impl Both {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let root = ScopeKey::new();
        let middle = ScopeKey::under(&root);
        let keys = vec![root, middle.clone(), ScopeKey::under(&middle), ScopeKey::new()];
        let scopes = keys.iter().map(|key| fixture.app.scope_for(key).unwrap()).collect();
        Self { fixture, keys, scopes, model: Model::default(), effects: Vec::new(), next: 0 }
    }

    fn enter(&mut self, place: Place, kind: Kind, effect: Effect) {
        self.effects.push((self.next, effect));
        self.model.0.push(Entry { number: self.next, place, kind });
    }

    async fn run(&mut self, op: Op) {
        self.next += 1;
        match op {
            Op::Register(place, name) => self.register(place, name),
            Op::Restrict(scope, allow, deny) => self.restrict(scope, allow, deny),
            Op::Undo(number) if !self.effects.is_empty() => {
                let (number, effect) = self.effects.remove(number % self.effects.len());
                effect.dispose().await;
                self.model.0.retain(|entry| entry.number != number);
            }
            Op::Undo(_) => {}
            Op::Close(scope) => {
                self.scopes[scope].close().await;
                self.scopes[scope] = self.fixture.app.scope_for(&self.keys[scope]).unwrap();
                self.model.0.retain(|entry| entry.place != Some(scope));
            }
        }
    }

    fn register(&mut self, place: Place, name: &'static str) {
        let app = &**self.fixture.app;
        let ctx = place.map_or(app, |scope| self.scopes[scope].context());
        let registered = self.fixture.tools().register(ctx, marked(name, self.next.to_string()));
        match registered {
            Ok(effect) => {
                assert!(self.model.tools(place).all(|(held, _)| held != name), "{name} is taken");
                self.enter(place, Kind::Tool(name), effect);
            }
            Err(RegisterError::Taken { .. }) => {
                assert!(self.model.tools(place).any(|(held, _)| held == name), "{name} is free");
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn restrict(&mut self, scope: usize, allow: Option<Vec<&'static str>>, deny: Vec<&'static str>) {
        let restriction = match &allow {
            Some(allow) => Restriction::allow(allow.iter().copied()).and_deny(deny.iter().copied()),
            None => Restriction::deny(deny.iter().copied()),
        };
        let mut names = allow.iter().flatten().chain(&deny);
        let legal = names.all(|name| self.model.inherits(Some(scope), name));
        let restricted = self.fixture.tools().restrict(self.scopes[scope].context(), restriction);
        match restricted {
            Ok(effect) => {
                assert!(legal, "a name is not inherited");
                self.enter(Some(scope), Kind::Restriction(allow, deny), effect);
            }
            Err(RegisterError::UnknownTools { .. }) => assert!(!legal, "all names are inherited"),
            Err(other) => panic!("{other}"),
        }
    }

    fn check(&self) {
        let tools = self.fixture.tools();
        for place in PLACES {
            let scope = place.map(|scope| &self.keys[scope]);
            let expected = self.model.view(place);
            let listed = tools.list(scope).into_iter();
            let listed: Vec<(String, String)> =
                listed.map(|tool| (tool.name().to_owned(), tool.schema().description.clone())).collect();
            assert_eq!(listed, expected, "list of {place:?} with {:?}", self.model.0);
            let schemas = tools.schemas(scope).into_iter();
            let schemas: Vec<(String, String)> =
                schemas.map(|schema| (schema.name, schema.description)).collect();
            assert_eq!(schemas, expected, "schemas of {place:?}");
            for name in NAMES {
                let got = self.fixture.said(name, scope);
                let expected = expected.iter().find(|(seen, _)| seen == name).map(|(_, mark)| mark.clone());
                assert_eq!(got, expected, "{name} of {place:?} with {:?}", self.model.0);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: tools/T3, tools/T4, tools/T5, tools/T14, tools/T15, tools/T19, tools/T21, tools/T22, tools/T24, tools/T25
    #[test]
    fn every_view_is_what_a_plain_list_gives(ops in prop::collection::vec(op(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut both = Both::new().await;
            for op in ops {
                both.run(op).await;
                both.check();
            }
            both.fixture.app.assert_no_errors();
        });
    }
}
