//! Which adapters serve which providers: all of a registration or none.

use std::sync::Arc;

use cordis::Context;
use cordis::testing::Recorder;
use dsh_llm::testing::{Answer, ScriptedModel, collected, plain};
use dsh_llm::{
    ADAPTERS_UPDATED, Adapter, ChunkSink, Llm, LlmError, Model, ModelEntry, ModelInfo, ModelRequest,
    ProviderInfo, RegisterError, RetryPolicy, code,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, request, short};

fn model() -> ScriptedModel {
    ScriptedModel::new([])
}

fn changes(fixture: &Fixture) -> Recorder<Vec<String>> {
    let llm = fixture.llm.clone();
    let ids = move |(): &()| llm.providers().into_iter().map(|info| info.id).collect();
    Recorder::of(&fixture.app, ADAPTERS_UPDATED, ids).unwrap()
}

// spec: llm/S30, llm/S33
#[tokio::test]
async fn providers_are_listed_in_the_order_of_their_registration() {
    let fixture = Fixture::new().await;
    fixture.llm.register(&fixture.app, ["b", "a"], model().adapter()).unwrap();
    fixture.llm.register(&fixture.app, ["0"], model().adapter()).unwrap();
    let name = |id: &str| ProviderInfo { id: id.to_owned(), name: format!("Scripted {id}") };
    assert_eq!(fixture.llm.providers(), [name("b"), name("a"), name("0")]);
    assert!(fixture.llm.has_provider("a"));
    assert!(!fixture.llm.has_provider("c"));
}

// spec: llm/S30
#[tokio::test]
async fn a_registration_that_cannot_be_whole_changes_nothing() {
    let fixture = Fixture::new().await;
    fixture.serve("acme", &model());
    let changes = changes(&fixture);
    let effects = fixture.app.effects(&fixture.app);
    let refused = |providers: &[&str]| {
        fixture.llm.register(&fixture.app, providers.iter().copied(), model().adapter()).unwrap_err()
    };
    let owner = fixture.app.fiber().label();
    let duplicate =
        |provider: &str| RegisterError::Duplicate { provider: provider.to_owned(), owner: owner.clone() };
    assert_eq!(refused(&[]), RegisterError::NoProvider);
    assert_eq!(refused(&["new", ""]), RegisterError::Unnamed);
    assert_eq!(refused(&["new", "new"]), duplicate("new"));
    assert_eq!(refused(&["new", "acme"]), duplicate("acme"));
    let codes = [RegisterError::NoProvider.code(), RegisterError::Unnamed.code(), duplicate("x").code()];
    assert_eq!(codes, [code::INVALID_ADAPTER, code::INVALID_ADAPTER, code::DUPLICATE_ADAPTER]);
    assert_eq!(fixture.provider_ids(), ["acme"]);
    assert_eq!(changes.take(), Vec::<Vec<String>>::new());
    fixture.app.quiet().await;
    assert_eq!(fixture.app.effects(&fixture.app), effects, "nothing is left of what was refused");
    assert!(duplicate("acme").to_string().contains(&owner), "it names who has it");
}

// spec: llm/S30
#[tokio::test]
async fn a_name_is_free_again_when_its_adapter_was_taken_back() {
    let fixture = Fixture::new().await;
    let first = fixture.serve("acme", &ScriptedModel::new([Answer::text("old")]));
    assert!(first.dispose().await.is_clean());
    assert_eq!(fixture.provider_ids(), Vec::<String>::new());
    let second = ScriptedModel::new([Answer::text("new")]);
    fixture.serve("acme", &second);
    collected(fixture.ask("acme")).await.unwrap();
    assert_eq!(second.requests().len(), 1);
}

/// Says what it is told to say of its providers.
struct Says {
    info: Arc<Mutex<ProviderInfo>>,
    policy: Arc<Mutex<RetryPolicy>>,
    asked: Arc<Mutex<u32>>,
}

impl Says {
    fn new(id: &str, name: &str) -> Self {
        let info = ProviderInfo { id: id.to_owned(), name: name.to_owned() };
        Self { info: Arc::new(Mutex::new(info)), policy: Arc::default(), asked: Arc::default() }
    }
}

struct Silent;

impl Adapter for Says {
    type Model = Silent;

    fn provider(&self, provider: &str) -> ProviderInfo {
        *self.asked.lock() += 1;
        assert_ne!(provider, "panics", "who is that?");
        self.info.lock().clone()
    }

    fn retry_policy(&self, _: &str) -> RetryPolicy {
        self.policy.lock().clone()
    }

    async fn models(&self, _: &str) -> Result<Vec<ModelEntry>, LlmError> {
        Ok(Vec::new())
    }

    async fn model(&self, _: &str, _: &str, _: &CancellationToken) -> Result<Silent, LlmError> {
        Ok(Silent)
    }
}

impl Model for Silent {
    fn info(&self) -> ModelInfo {
        plain("acme", "m")
    }

    async fn stream(&self, _: &ModelRequest, _: &mut ChunkSink) -> Result<(), LlmError> {
        Ok(())
    }
}

// spec: llm/S30
#[tokio::test]
async fn an_adapter_must_know_the_provider_and_its_name() {
    let fixture = Fixture::new().await;
    for (id, name) in [("other", "Acme"), ("acme", "")] {
        let error = fixture.llm.register(&fixture.app, ["acme"], Says::new(id, name)).unwrap_err();
        let described = RegisterError::Described {
            provider: "acme".to_owned(),
            described: id.to_owned(),
            name: name.to_owned(),
        };
        assert_eq!(error, described);
        assert_eq!(error.code(), code::INVALID_ADAPTER);
    }
    let says = Says::new("acme", "Acme");
    *says.policy.lock() =
        RetryPolicy::Normal { max_retries: 1, retryable_codes: Vec::new(), backoff: Default::default() };
    let error = fixture.llm.register(&fixture.app, ["acme"], says).unwrap_err();
    assert!(matches!(error, RegisterError::RetryPolicy { .. }));
    assert_eq!(error.code(), code::INVALID_ADAPTER);
    assert_eq!(fixture.provider_ids(), Vec::<String>::new());
}

// spec: llm/S30, llm/S33
#[tokio::test]
async fn what_is_said_of_a_provider_is_asked_once_and_what_is_listed_is_a_copy() {
    let fixture = Fixture::new().await;
    let says = Says::new("acme", "Acme");
    let (info, policy, asked) = (says.info.clone(), says.policy.clone(), says.asked.clone());
    let registration = fixture.llm.register(&fixture.app, ["acme"], says).unwrap();
    info.lock().name = "Another".to_owned();
    let always = RetryPolicy::Always { backoff: Default::default() };
    *policy.lock() = always.clone();
    let mut listed = fixture.llm.providers();
    assert_eq!(listed[0].name, "Acme");
    listed[0].name = "Mine".to_owned();
    assert_eq!(fixture.llm.providers()[0].name, "Acme");
    let token = CancellationToken::new();
    let prepare = || fixture.llm.prepare(request("acme").config, &token);
    let before = prepare().await.unwrap();
    assert_eq!(*before.retry_policy(), RetryPolicy::default());
    assert_eq!(*asked.lock(), 1);
    // It is asked for anew with other providers.
    registration.replace(["acme"]).unwrap();
    assert_eq!(fixture.llm.providers()[0].name, "Another");
    assert_eq!(*prepare().await.unwrap().retry_policy(), always);
    assert_eq!(*before.retry_policy(), RetryPolicy::default(), "what is prepared stays");
}

// spec: llm/S31
#[tokio::test]
async fn replacing_is_one_step_in_which_its_own_names_are_free() {
    let fixture = Fixture::new().await;
    let registration = fixture.llm.register(&fixture.app, ["a", "b"], model().adapter()).unwrap();
    fixture.serve("c", &model());
    let changes = changes(&fixture);
    registration.replace(["b", "d"]).unwrap();
    assert_eq!(fixture.provider_ids(), ["b", "d", "c"]);
    registration.replace(Vec::<String>::new()).unwrap();
    assert_eq!(fixture.provider_ids(), ["c"]);
    registration.replace(["a"]).unwrap();
    assert_eq!(changes.take(), [vec!["b", "d", "c"], vec!["c"], vec!["a", "c"]]);
}

// spec: llm/S31
#[tokio::test]
async fn a_replacement_that_cannot_be_whole_changes_nothing() {
    let fixture = Fixture::new().await;
    let registration = fixture.llm.register(&fixture.app, ["a"], model().adapter()).unwrap();
    fixture.serve("c", &model());
    let says = Says::new("acme", "Acme");
    let panicking = fixture.llm.register(&fixture.app, ["acme"], says).unwrap();
    let changes = changes(&fixture);
    for (providers, code) in [
        (vec!["b", "c"], code::DUPLICATE_ADAPTER),
        (vec!["b", "b"], code::DUPLICATE_ADAPTER),
        (vec!["b", ""], code::INVALID_ADAPTER),
    ] {
        assert_eq!(registration.replace(providers).unwrap_err().code(), code);
    }
    assert!(matches!(panicking.replace(["other"]).unwrap_err(), RegisterError::Described { .. }));
    let error = panicking.replace(["panics"]).unwrap_err();
    assert!(matches!(&error, RegisterError::Panicked { reason } if reason.contains("who is that?")));
    assert_eq!(fixture.provider_ids(), ["a", "c", "acme"]);
    assert_eq!(changes.take(), Vec::<Vec<String>>::new());
}

// spec: llm/S31
#[tokio::test]
async fn what_was_taken_back_cannot_be_replaced() {
    let fixture = Fixture::new().await;
    let fiber = fixture.host().await;
    let registration = fixture.llm.register(&fiber.context(), ["a"], model().adapter()).unwrap();
    fiber.dispose().await;
    let error = registration.replace(["a"]).unwrap_err();
    assert_eq!(error, RegisterError::Disposed);
    assert_eq!(error.code(), code::REGISTRATION_DISPOSED);
}

// spec: llm/S30
#[tokio::test]
async fn a_plugin_that_is_gone_registers_nothing() {
    let fixture = Fixture::new().await;
    let fiber = fixture.host().await;
    let ctx = fiber.context();
    fiber.dispose().await;
    let changes = changes(&fixture);
    let error = fixture.llm.register(&ctx, ["a"], model().adapter()).unwrap_err();
    assert!(matches!(error, RegisterError::Inactive(_)));
    assert_eq!(error.code(), code::REGISTRATION_DISPOSED);
    assert_eq!(fixture.provider_ids(), Vec::<String>::new());
    assert_eq!(changes.take(), Vec::<Vec<String>>::new());
}

// spec: llm/S32
#[tokio::test]
async fn each_change_is_told_once_when_it_can_be_seen_already() {
    let fixture = Fixture::new().await;
    let changes = changes(&fixture);
    let first = fixture.llm.register(&fixture.app, ["a", "b"], model().adapter()).unwrap();
    assert_eq!(changes.take(), [["a", "b"]]);
    first.replace(["b"]).unwrap();
    assert_eq!(changes.take(), [["b"]]);
    first.dispose().await;
    assert_eq!(changes.take(), [Vec::<String>::new()]);
    let host = fixture.plugin_of("host", "c", &model()).await;
    assert_eq!(changes.take(), [["c"]]);
    host.dispose().await;
    assert_eq!(changes.take(), [Vec::<String>::new()]);
}

// spec: llm/S32, design/P4
#[tokio::test]
async fn the_failure_of_a_listener_changes_nothing_and_the_others_are_told() {
    let fixture = Fixture::new().await;
    fixture.app.on(ADAPTERS_UPDATED).run(|()| panic!("the menu is broken")).unwrap();
    let changes = changes(&fixture);
    fixture.serve("acme", &model());
    assert_eq!(changes.take(), [["acme"]]);
    fixture.app.quiet().await;
    let errors = fixture.app.take_errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(format!("{errors:?}").contains("the menu is broken"));
}

// spec: llm/S32, design/P3
#[tokio::test]
async fn a_listener_may_register_and_replace() {
    let fixture = Fixture::new().await;
    let (llm, ctx): (Llm, Context) = (fixture.llm.clone(), (**fixture.app).clone());
    fixture
        .app
        .on(ADAPTERS_UPDATED)
        .run(move |()| {
            if !llm.has_provider("second") && llm.has_provider("first") {
                llm.register(&ctx, ["second"], model().adapter()).unwrap();
            }
        })
        .unwrap();
    fixture.serve("first", &model());
    assert_eq!(fixture.provider_ids(), ["first", "second"]);
    fixture.app.assert_no_errors();
}

// spec: llm/S30
#[tokio::test]
async fn one_adapter_serves_several_providers_and_is_told_which_one_is_asked() {
    let fixture = Fixture::new().await;
    let model = ScriptedModel::new([Answer::text("x"), Answer::text("y")]);
    fixture.llm.register(&fixture.app, ["a", "b"], model.adapter()).unwrap();
    for provider in ["b", "a"] {
        let chunks = collected(fixture.ask(provider)).await.unwrap();
        assert_eq!(short(&chunks).last().unwrap(), "stop");
    }
    let asked: Vec<String> = model.requests().into_iter().map(|request| request.config.provider).collect();
    assert_eq!(asked, ["b", "a"]);
}
