//! What the plugin can be configured with.

use cordis::testing::TestApp;
use cordis::{MountError, catalog};
use dsh_session_title::Config;
use serde_json::{Value, json};

use crate::fixture::config;

async fn mounted(config: Value) -> Result<(), String> {
    let app = TestApp::new();
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    let fiber = catalog::find("session-title").unwrap().mount(&app, config).map_err(|error| match error {
        MountError::Config { source, .. } => source.to_string(),
        other => panic!("{other}"),
    })?;
    match fiber.ready().await {
        Ok(_) => Ok(()),
        Err(_) => Err(fiber.error().unwrap().to_string()),
    }
}

fn all() -> Value {
    json!({ "fallbackMaxWords": 5, "fallbackMaxBytes": 40, "maxTitleBytes": 40 })
}

// spec: session/S117
#[tokio::test]
async fn all_three_limits_are_required_and_positive() {
    assert_eq!(mounted(all()).await, Ok(()));
    for field in ["fallbackMaxWords", "fallbackMaxBytes", "maxTitleBytes"] {
        let mut without = all();
        without.as_object_mut().unwrap().remove(field);
        let error = mounted(without).await.unwrap_err();
        assert!(error.contains(&format!("missing field `{field}`")), "{error}");
        for wrong in [json!(0), json!(-1), json!(1.5), json!("5"), Value::Null] {
            let mut config = all();
            config[field] = wrong.clone();
            let error = mounted(config).await.unwrap_err();
            assert!(error.contains(field), "{field} = {wrong}: {error}");
        }
    }
}

// spec: session/S117
#[tokio::test]
async fn a_title_that_nobody_gave_is_not_longer_than_any_may_be() {
    let mut config = all();
    config["fallbackMaxBytes"] = json!(41);
    let error = mounted(config).await.unwrap_err();
    assert!(error.contains("`fallbackMaxBytes` is 41, more than `maxTitleBytes`, which is 40"), "{error}");
}

#[test]
fn a_configuration_is_written_as_it_is_read() {
    let written = serde_json::to_value(config(5, 40, 40)).unwrap();
    assert_eq!(written, all());
    assert_eq!(serde_json::from_value::<Config>(written).unwrap(), config(5, 40, 40));
}
