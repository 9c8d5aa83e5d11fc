//! What the plugin can be configured with.

use cordis::testing::TestApp;
use cordis::{MountError, catalog};
use dsh_prompt::{AssembleContext, Config, InvalidToolOrder, SYSTEM_PROMPT, SystemPrompt, ToolOrder};
use serde_json::{Value, json};

use crate::fixture::{Fixture, pairs};

fn read(config: Value) -> Result<Config, String> {
    serde_json::from_value(config).map_err(|error| error.to_string())
}

fn listed(names: &[&str]) -> Result<ToolOrder, InvalidToolOrder> {
    names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().try_into()
}

// spec: system-prompt/S4
#[tokio::test]
async fn identity_and_persona_are_built_in_and_identity_comes_first() {
    let config = Config { persona: "You review {{what}}.".to_owned(), ..Config::default() };
    let fixture = Fixture::with(config).await;
    let assembly = fixture.assemble().await;
    let [("harness:identity", identity), persona] = pairs(&assembly.sections)[..] else {
        panic!("{assembly:?}");
    };
    assert!(identity.contains("dsh"), "{identity}");
    assert_eq!(persona, ("deployment:persona", "You review {{what}}."));
}

#[tokio::test]
async fn identity_can_be_left_out_and_an_empty_persona_is_there_and_renders_nothing() {
    let fixture = Fixture::with(Config { include_harness_identity: false, ..Config::default() }).await;
    let assembly = fixture.assemble().await;
    assert_eq!(pairs(&assembly.sections), [("deployment:persona", "")]);
    assert_eq!(assembly.render_prompt().unwrap(), "");
}

// spec: system-prompt/S5
#[tokio::test]
async fn what_is_not_configured_is_as_by_default_without_the_plugin_too() {
    assert_eq!(read(json!({})), Ok(Config::default()));
    assert_eq!(
        Config::default(),
        Config {
            include_harness_identity: true,
            include_runtime_context: true,
            persona: String::new(),
            tool_order: None
        }
    );
    let app = TestApp::new();
    let prompt = SystemPrompt::new(&app, &Config::default()).unwrap();
    let direct = prompt.assemble(&app, &AssembleContext::new()).await.unwrap();
    assert_eq!(direct, Fixture::with(Config::default()).await.assemble().await);
}

// spec: design/P1
#[tokio::test]
async fn the_service_and_what_is_built_in_go_with_the_plugin() {
    let fixture = Fixture::with(Config { include_runtime_context: false, ..Config::default() }).await;
    assert!(fixture.plugin.dispose().await.is_clean());
    assert!(fixture.app.get(SYSTEM_PROMPT).is_none());
    fixture.app.assert_no_errors();
}

#[test]
fn a_configuration_is_written_as_it_is_read() {
    let written = json!({
        "includeHarnessIdentity": false,
        "includeRuntimeContext": false,
        "persona": "p",
        "toolOrder": ["b", "<unlisted-tools>", "a"],
    });
    assert_eq!(serde_json::to_value(read(written.clone()).unwrap()).unwrap(), written);
    let error = read(json!({ "personality": "p" })).unwrap_err();
    assert!(error.contains("personality"), "{error}");
}

// spec: system-prompt/S3
#[test]
fn a_tool_order_lists_nothing_twice_and_the_rest_once() {
    let duplicate = |name: &str| Err(InvalidToolOrder::Duplicate { name: name.to_owned() });
    assert_eq!(listed(&["a", "<unlisted-tools>", "a"]), duplicate("a"));
    assert_eq!(listed(&["<unlisted-tools>", "<unlisted-tools>"]), duplicate("<unlisted-tools>"));
    assert_eq!(listed(&["a", "b"]), Err(InvalidToolOrder::NoRest));
    assert_eq!(listed(&[]), Err(InvalidToolOrder::NoRest));
    let order = listed(&["b", "<unlisted-tools>", "a"]).unwrap();
    assert_eq!(order.listed().collect::<Vec<_>>(), ["b", "a"]);
    assert!(listed(&["<unlisted-tools>"]).is_ok());
}

// spec: system-prompt/S3
#[tokio::test]
async fn a_wrong_tool_order_is_refused_when_the_plugin_is_mounted() {
    let app = TestApp::new();
    for wrong in [json!([]), json!(["a"]), json!(["a", "a", "<unlisted-tools>"])] {
        let mounted = catalog::find("system-prompt").unwrap().mount(&app, json!({ "toolOrder": wrong }));
        let Err(MountError::Config { plugin, source }) = mounted else { panic!("{wrong} was taken") };
        assert_eq!(plugin, "system-prompt");
        assert!(source.to_string().contains("toolOrder"), "{source}");
    }
}
