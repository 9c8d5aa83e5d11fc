//! The providers that can be set up.

use cordis::testing::Recorder;
use dsh_llm::{ADAPTERS_UPDATED, ConfigurableProvider, DirectoryError, code};

use crate::fixture::Fixture;

fn entry(provider: &str) -> ConfigurableProvider {
    ConfigurableProvider {
        provider: provider.to_owned(),
        display_name: provider.to_uppercase(),
        settings_ns: "llm-acme".to_owned(),
        settings_path: vec!["providers".to_owned(), provider.to_owned()],
        declared: None,
    }
}

fn ids(fixture: &Fixture) -> Vec<String> {
    fixture.llm.configurable_providers().into_iter().map(|entry| entry.provider).collect()
}

fn changes(fixture: &Fixture) -> Recorder<Vec<String>> {
    let llm = fixture.llm.clone();
    let ids = move |(): &()| llm.configurable_providers().into_iter().map(|entry| entry.provider).collect();
    Recorder::of(&fixture.app, ADAPTERS_UPDATED, ids).unwrap()
}

// spec: llm/S34, llm/S32
#[tokio::test]
async fn entries_are_listed_in_order_and_each_change_is_told_once() {
    let fixture = Fixture::new().await;
    let changes = changes(&fixture);
    let first = fixture.llm.register_configurable(&fixture.app, [entry("b"), entry("a")]).unwrap();
    let whole = ConfigurableProvider { settings_path: Vec::new(), declared: Some(true), ..entry("0") };
    fixture.llm.register_configurable(&fixture.app, [whole.clone()]).unwrap();
    assert_eq!(fixture.llm.configurable_providers(), [entry("b"), entry("a"), whole]);
    first.replace([entry("a"), entry("c")]).unwrap();
    first.replace([]).unwrap();
    first.replace([entry("d")]).unwrap();
    assert!(first.dispose().await.is_clean());
    let seen: Vec<String> = changes.take().iter().map(|ids| ids.join(" ")).collect();
    assert_eq!(seen, ["b a", "b a 0", "a c 0", "0", "d 0", "0"]);
}

// spec: llm/S34
#[tokio::test]
async fn what_cannot_be_whole_changes_nothing() {
    let fixture = Fixture::new().await;
    fixture.llm.register_configurable(&fixture.app, [entry("a")]).unwrap();
    let other = fixture.llm.register_configurable(&fixture.app, [entry("b")]).unwrap();
    let (changes, effects) = (changes(&fixture), fixture.app.effects(&fixture.app));
    let incomplete: [fn(&mut ConfigurableProvider); 4] = [
        |entry| entry.provider.clear(),
        |entry| entry.display_name.clear(),
        |entry| entry.settings_ns.clear(),
        |entry| entry.settings_path.push(String::new()),
    ];
    for change in incomplete {
        let mut wrong = entry("x");
        change(&mut wrong);
        let entries = || [entry("new"), wrong.clone()];
        let error = fixture.llm.register_configurable(&fixture.app, entries()).unwrap_err();
        assert_eq!(error.code(), code::INVALID_DIRECTORY);
        assert_eq!(other.replace(entries()).unwrap_err(), error);
    }
    for entries in [[entry("new"), entry("a")], [entry("new"), entry("new")]] {
        let error = fixture.llm.register_configurable(&fixture.app, entries.clone()).unwrap_err();
        assert!(matches!(error, DirectoryError::Duplicate { .. }));
        assert_eq!(error.code(), code::DUPLICATE_DIRECTORY);
        assert_eq!(other.replace(entries).unwrap_err(), error);
    }
    let error = fixture.llm.register_configurable(&fixture.app, []).unwrap_err();
    assert_eq!((error.code(), &error), (code::INVALID_DIRECTORY, &DirectoryError::NoProvider));
    assert_eq!(ids(&fixture), ["a", "b"]);
    assert_eq!(changes.take(), Vec::<Vec<String>>::new());
    fixture.app.quiet().await;
    assert_eq!(fixture.app.effects(&fixture.app), effects);
}

// spec: llm/S34, design/P1
#[tokio::test]
async fn entries_go_with_their_plugin() {
    let fixture = Fixture::new().await;
    let fiber = fixture.host().await;
    let ctx = fiber.context();
    let registration = fixture.llm.register_configurable(&ctx, [entry("a")]).unwrap();
    fiber.dispose().await;
    assert_eq!(ids(&fixture), Vec::<String>::new());
    let error = registration.replace([entry("a")]).unwrap_err();
    assert_eq!((error.code(), &error), (code::REGISTRATION_DISPOSED, &DirectoryError::Disposed));
    let error = fixture.llm.register_configurable(&ctx, [entry("a")]).unwrap_err();
    assert!(matches!(error, DirectoryError::Inactive(_)));
    assert_eq!(ids(&fixture), Vec::<String>::new());
}

// spec: llm/S34
#[test]
fn an_entry_is_written_as_the_reference_writes_it() {
    let json =
        r#"{"provider":"a","displayName":"A","settingsNs":"llm-acme","settingsPath":["providers","a"]}"#;
    assert_eq!(serde_json::to_string(&entry("a")).unwrap(), json);
    assert_eq!(serde_json::from_str::<ConfigurableProvider>(json).unwrap(), entry("a"));
}
