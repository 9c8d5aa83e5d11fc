//! Views of layered registries: global, then ancestors farthest first, then the scope's own; nearer shadows farther.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{AnonymousEntries, App, Context, Layer, LayerError, Layers, NamedEntries, ScopeKey};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

/// A registry's tables for one scope; the error for a taken name tells whose layer it is.
struct Tools {
    named: NamedEntries<Arc<u32>, Taken>,
    guards: AnonymousEntries<u32>,
}

#[derive(Debug, PartialEq)]
struct Taken {
    name: String,
    layer: Option<u64>,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is taken in {:?}", self.name, self.layer)
    }
}

impl std::error::Error for Taken {}

impl Layer for Tools {
    fn is_empty(&self) -> bool {
        self.named.is_empty() && self.guards.is_empty()
    }
}

fn make(scope: Option<&ScopeKey>) -> Tools {
    let layer = scope.map(ScopeKey::id);
    let taken = move |name: &str| Taken { name: name.to_owned(), layer };
    Tools { named: NamedEntries::with_error(taken), guards: AnonymousEntries::new() }
}

fn tools() -> Layers<Tools> {
    Layers::new(make, |_| Ok(()))
}

fn name(layers: &Layers<Tools>, ctx: &Context, name: &'static str, value: u32) -> cordis::Effect {
    layers.effect(ctx, "name", |tools| tools.named.insert(name, Arc::new(value))).unwrap()
}

fn guard(layers: &Layers<Tools>, ctx: &Context, value: u32) -> cordis::Effect {
    layers.effect(ctx, "guard", |tools| Ok::<_, Taken>(tools.guards.append(value))).unwrap()
}

fn view(layers: &Layers<Tools>, scope: Option<&ScopeKey>) -> Vec<(String, u32)> {
    layers.merge(scope, |tools| &tools.named).into_iter().map(|(name, n)| (name.to_string(), *n)).collect()
}

fn pairs(of: &[(&str, u32)]) -> Vec<(String, u32)> {
    of.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

// spec: scope/S25
#[tokio::test]
async fn the_global_layer_is_made_at_once_and_others_when_they_are_filled() {
    let app = App::new().unwrap();
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let layers = Layers::new(
        move |scope| {
            count.fetch_add(1, SeqCst);
            make(scope)
        },
        |_| Ok(()),
    );
    assert_eq!(made.load(SeqCst), 1);
    assert!(layers.global().is_empty());
    let scope = app.scope().unwrap();
    name(&layers, &app, "a", 1);
    assert_eq!(made.load(SeqCst), 1);
    name(&layers, scope.context(), "a", 2);
    assert_eq!(made.load(SeqCst), 2);
    name(&layers, scope.context(), "b", 3);
    assert_eq!(made.load(SeqCst), 2);
    assert_eq!(*layers.peek(scope.key()).unwrap().named.get("a").unwrap(), 2);
    assert_eq!(*layers.global().named.get("a").unwrap(), 1);
}

// spec: scope/S26
#[tokio::test]
async fn looking_makes_no_layer_and_sees_the_scopes_own_only() {
    let app = App::new().unwrap();
    let layers = tools();
    let parent = app.scope().unwrap();
    let child = app.scope_under(parent.key()).unwrap();
    guard(&layers, parent.context(), 1);
    assert!(layers.peek(child.key()).is_none());
    assert_eq!(layers.chain(child.key()).len(), 1);
    assert_eq!(view(&layers, Some(child.key())), []);
    assert!(layers.peek(child.key()).is_none());
    assert_eq!(layers.peek(parent.key()).unwrap().guards.values(), [1]);
    guard(&layers, child.context(), 2);
    assert_eq!(layers.peek(child.key()).unwrap().guards.values(), [2]);
}

// spec: scope/S27
#[tokio::test]
async fn a_chain_gives_the_existing_layers_farthest_first_without_the_global_one() {
    let app = App::new().unwrap();
    let layers = tools();
    let root = app.scope().unwrap();
    let middle = app.scope_under(root.key()).unwrap();
    let leaf = app.scope_under(middle.key()).unwrap();
    guard(&layers, &app, 0);
    guard(&layers, leaf.context(), 3);
    guard(&layers, root.context(), 1);
    let chain = |key: &ScopeKey| -> Vec<u32> {
        layers.chain(key).iter().flat_map(|layer| layer.guards.values()).collect()
    };
    assert_eq!(chain(leaf.key()), [1, 3]);
    guard(&layers, middle.context(), 2);
    assert_eq!(chain(leaf.key()), [1, 2, 3]);
    assert_eq!(chain(middle.key()), [1, 2]);
    assert!(chain(&ScopeKey::new()).is_empty());
}

// spec: scope/S28, scope/S14
#[tokio::test]
async fn the_nearest_value_wins_at_the_place_of_the_farthest() {
    let app = App::new().unwrap();
    let layers = tools();
    let root = app.scope().unwrap();
    let leaf = app.scope_under(root.key()).unwrap();
    name(&layers, leaf.context(), "b", 30);
    name(&layers, leaf.context(), "e", 31);
    name(&layers, &app, "a", 1);
    name(&layers, &app, "b", 2);
    name(&layers, &app, "c", 3);
    name(&layers, root.context(), "c", 20);
    name(&layers, root.context(), "d", 21);
    name(&layers, root.context(), "b", 22);
    assert_eq!(view(&layers, None), pairs(&[("a", 1), ("b", 2), ("c", 3)]));
    assert_eq!(view(&layers, Some(root.key())), pairs(&[("a", 1), ("b", 22), ("c", 20), ("d", 21)]));
    assert_eq!(
        view(&layers, Some(leaf.key())),
        pairs(&[("a", 1), ("b", 30), ("c", 20), ("d", 21), ("e", 31)])
    );
    // Neither a sibling's view nor the global one inherits from below.
    let sibling = app.scope_under(root.key()).unwrap();
    assert_eq!(view(&layers, Some(sibling.key())), view(&layers, Some(root.key())));
}

// spec: scope/S50
#[tokio::test]
async fn a_removed_shadow_uncovers_what_it_shadowed_at_its_place() {
    let app = App::new().unwrap();
    let layers = tools();
    let root = app.scope().unwrap();
    let leaf = app.scope_under(root.key()).unwrap();
    name(&layers, &app, "a", 1);
    name(&layers, &app, "b", 2);
    let middle = name(&layers, root.context(), "a", 10);
    let near = name(&layers, leaf.context(), "a", 20);
    let of_leaf = || view(&layers, Some(leaf.key()));
    assert_eq!(of_leaf(), pairs(&[("a", 20), ("b", 2)]));
    near.dispose().await;
    assert_eq!(of_leaf(), pairs(&[("a", 10), ("b", 2)]));
    middle.dispose().await;
    assert_eq!(of_leaf(), pairs(&[("a", 1), ("b", 2)]));
    assert!(layers.chain(leaf.key()).is_empty());
}

// spec: scope/S49, scope/S15
#[tokio::test]
async fn the_next_look_follows_a_rebinding() {
    let app = App::new().unwrap();
    let layers = tools();
    let (first, second, leaf) = (app.scope().unwrap(), app.scope().unwrap(), app.scope().unwrap());
    name(&layers, first.context(), "a", 1);
    name(&layers, second.context(), "a", 2);
    name(&layers, second.context(), "b", 3);
    assert_eq!(view(&layers, Some(leaf.key())), []);
    let binding = leaf.bind_parent(first.key()).unwrap();
    assert_eq!(view(&layers, Some(leaf.key())), pairs(&[("a", 1)]));
    binding.rebind(second.key()).unwrap();
    assert_eq!(view(&layers, Some(leaf.key())), pairs(&[("a", 2), ("b", 3)]));
}

// spec: scope/S52
#[tokio::test]
async fn the_error_for_a_taken_name_is_that_of_the_layer() {
    let app = App::new().unwrap();
    let layers = tools();
    let scope = app.scope().unwrap();
    let again = |ctx: &Context| {
        name(&layers, ctx, "a", 1);
        match layers.effect(ctx, "again", |tools| tools.named.insert("a", Arc::new(2))) {
            Err(LayerError::Action(taken)) => taken,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(again(&app), Taken { name: "a".into(), layer: None });
    assert_eq!(again(scope.context()), Taken { name: "a".into(), layer: Some(scope.id()) });
    assert_eq!(view(&layers, Some(scope.key())), pairs(&[("a", 1)]));
}

// spec: scope/S37
#[tokio::test]
async fn views_share_the_values() {
    let app = App::new().unwrap();
    let layers = tools();
    let value = Arc::new(5);
    let kept = value.clone();
    layers.effect(&app, "value", |tools| tools.named.insert("a", kept)).unwrap();
    let view = layers.merge(None, |tools| &tools.named);
    assert!(Arc::ptr_eq(&view[0].1, &value));
    assert!(Arc::ptr_eq(&layers.global().named.get("a").unwrap(), &value));
}

// spec: scope/S42, scope/S39
#[tokio::test]
async fn without_a_scope_a_look_gives_what_is_global_only() {
    let app = App::new().unwrap();
    let layers = tools();
    let scope = app.scope().unwrap();
    name(&layers, scope.context(), "scoped", 1);
    name(&layers, &app, "global", 2);
    assert_eq!(view(&layers, None), pairs(&[("global", 2)]));
    assert_eq!(view(&layers, Some(scope.key())), pairs(&[("global", 2), ("scoped", 1)]));
    scope.close().await;
    assert_eq!(view(&layers, Some(scope.key())), pairs(&[("global", 2)]));
}

// spec: scope/S29
#[tokio::test]
async fn the_layer_is_chosen_by_the_nearest_scope_of_the_context() {
    let app = App::new().unwrap();
    let layers = tools();
    let outer = app.scope().unwrap();
    let inner = outer.context().scope().unwrap();
    guard(&layers, inner.context(), 1);
    assert!(layers.peek(outer.key()).is_none());
    assert_eq!(layers.peek(inner.key()).unwrap().guards.values(), [1]);
    outer.close().await;
    assert!(layers.peek(inner.key()).is_none());
}

// spec: scope/S10
#[tokio::test]
async fn two_scopes_of_one_key_fill_one_layer() {
    let app = App::new().unwrap();
    let layers = tools();
    let first = app.scope().unwrap();
    let second = app.scope_for(first.key()).unwrap();
    guard(&layers, first.context(), 1);
    guard(&layers, second.context(), 2);
    let own = || layers.peek(first.key()).map(|layer| layer.guards.values());
    assert_eq!(own(), Some(vec![1, 2]));
    first.close().await;
    assert_eq!(own(), Some(vec![2]));
    second.close().await;
    assert_eq!(own(), None);
}
