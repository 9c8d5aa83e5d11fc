//! Where the key and the base URL come from. What a process is started with can only be set for another one, so these tests run
//! themselves again.

use std::process::Command;

use dsh_llm::LLM;
use dsh_llm_deepseek::Config;

use crate::fixture::{Fixture, KEY_ENV, all, failure, request, text};
use crate::server::Server;

/// Says that a test is the one that was run again.
const AGAIN: &str = "DSH_TEST_AGAIN";

/// Runs a test of this program in a process with other variables, or says that this is it.
pub(crate) async fn in_a_process_with(test: &str, variables: &[(&str, &str)]) -> Option<String> {
    if std::env::var_os(AGAIN).is_some() {
        return None;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(AGAIN, "1");
    command.env_remove("DEEPSEEK_API_KEY").env_remove("DEEPSEEK_BASE_URL");
    command.envs(variables.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let printed =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    Some(printed)
}

// spec: llm/S47, llm/S49, llm/S50
#[tokio::test]
async fn without_a_word_in_the_configuration_both_come_from_the_environment() {
    let server = Server::saying("hi").await;
    let variables =
        [("DEEPSEEK_API_KEY", "  sk-of-the-environment\n"), ("DEEPSEEK_BASE_URL", server.base.as_str())];
    let test = "credentials::without_a_word_in_the_configuration_both_come_from_the_environment";
    if in_a_process_with(test, &variables).await.is_some() {
        assert_eq!(server.request().header("authorization"), Some("Bearer sk-of-the-environment"));
        return;
    }
    let app = cordis::testing::TestApp::new();
    app.plugin(dsh_llm::plugin(), ()).unwrap();
    let config = Config { attribution: false, ..Config::default() };
    app.plugin(dsh_llm_deepseek::plugin(), config).unwrap().ready().await.unwrap();
    let llm = app.get(LLM).unwrap();
    assert_eq!(text(&all(llm.get().unwrap().stream(request())).await), "hi");
}

// spec: llm/S50
#[tokio::test]
async fn a_key_that_is_missing_or_none_is_said_without_a_request() {
    let variables =
        [("KEY_EMPTY", ""), ("KEY_BLANK", " \t"), ("KEY_INNER", "sk hunter2"), ("KEY_UNICODE", "sk-hünter2")];
    let test = "credentials::a_key_that_is_missing_or_none_is_said_without_a_request";
    if in_a_process_with(test, &[&variables[..], &[("DEEPSEEK_API_KEY", "sk-no-fallback")]].concat())
        .await
        .is_some()
    {
        return;
    }
    let server = Server::saying("hi").await;
    for (variable, code) in [
        ("KEY_NONE", "MISSING_CREDENTIAL"),
        ("KEY_EMPTY", "MISSING_CREDENTIAL"),
        ("KEY_BLANK", "INVALID_CREDENTIAL"),
        ("KEY_INNER", "INVALID_CREDENTIAL"),
        ("KEY_UNICODE", "INVALID_CREDENTIAL"),
    ] {
        let fixture = Fixture::with(&server, |config| config.api_key_env = variable.to_owned()).await;
        let failure = fixture.fail(request()).await;
        assert_eq!(failure.code, code, "{variable}");
        assert!(
            failure.message.contains(variable) && !failure.message.contains("nter2"),
            "{}",
            failure.message
        );
    }
    assert!(server.requests().is_empty());
}

// spec: llm/S49
#[tokio::test]
async fn a_base_url_of_the_environment_that_cannot_be_asked_is_said_and_not_shown() {
    let test = "credentials::a_base_url_of_the_environment_that_cannot_be_asked_is_said_and_not_shown";
    let base = "http://me:hunter2@localhost:9/v1";
    if let Some(printed) = in_a_process_with(test, &[("DEEPSEEK_BASE_URL", base)]).await {
        assert!(!printed.contains("hunter2"), "{printed}");
        return;
    }
    let app = cordis::testing::TestApp::new();
    app.plugin(dsh_llm::plugin(), ()).unwrap();
    let config = Config { api_key_env: KEY_ENV.to_owned(), attribution: false, ..Config::default() };
    app.plugin(dsh_llm_deepseek::plugin(), config).unwrap().ready().await.unwrap();
    let llm = app.get(LLM).unwrap();
    let failure = failure(&all(llm.get().unwrap().stream(request())).await);
    assert_eq!(failure.code, "INVALID_REQUEST");
    assert!(
        failure.message.contains("DEEPSEEK_BASE_URL") && !failure.message.contains("hunter2"),
        "{failure:?}"
    );
}
