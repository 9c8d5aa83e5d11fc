//! What the host tells commands.

use dsh_agent::Agent;
use dsh_shell::SHELL_ENV;
use dsh_tool_bash::Config;
use serde_json::json;

use crate::fixture::{Fixture, execute, mount, request, service};
use crate::scripted::Scripted;

const CALL: &str = r#"{"command":"true","description":"x"}"#;

// spec: fs-shell-sandbox/F99, fs-shell-sandbox/F101
#[tokio::test]
async fn commands_find_what_the_host_says_of_itself_once_somebody_says_it() {
    let scripted = Scripted::new(Config::default()).await;
    let call = serde_json::from_str(CALL).unwrap();
    execute(&scripted.app, request(&call)).await;
    assert_eq!(scripted.shell.asked()[0].managed_env, []);

    let config = dsh_shell::Config { home: Some("/srv/dsh".into()) };
    let env = mount(&scripted.app, dsh_shell::plugin(), config).await;
    scripted.app.quiet().await;
    execute(&scripted.app, request(&call)).await;
    let told = &scripted.shell.asked()[0];
    let expected = service(&scripted.app, SHELL_ENV, |env| env.for_agent(None::<&Agent>)).unwrap();
    assert_eq!(told.managed_env, expected.into_iter().collect::<Vec<_>>());
    assert!(told.managed_env.contains(&("DSH_SHELL".to_owned(), "1".to_owned())));

    env.dispose().await;
    scripted.app.quiet().await;
    execute(&scripted.app, request(&call)).await;
    assert_eq!(scripted.shell.asked()[0].managed_env, []);
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn a_command_knows_the_session_that_it_works_for_in_the_background_too() {
    let fixture = Fixture::new().await;
    let config = dsh_shell::Config { home: Some("/srv/dsh".into()) };
    mount(&fixture.app, dsh_shell::plugin(), config).await;
    fixture.app.quiet().await;
    let agent = fixture.agent("ada", None);
    let said = "/srv/dsh 1 ada\n";
    let mut call = json!({ "command": "echo $DSH_HOME $DSH_SHELL $DSH_SESSION_ID", "description": "x" });
    assert_eq!(fixture.execute(request(&call).agent(&agent)).await.text(), said);
    call["run_in_background"] = json!(true);
    let outcome = fixture.execute(request(&call).agent(&agent)).await;
    let id = crate::fixture::job_of(&outcome);
    let jobs = fixture.app.get(dsh_jobs::JOBS).unwrap();
    let jobs = jobs.get().unwrap();
    let (never, patience) = (Default::default(), std::time::Duration::from_secs(120));
    jobs.wait(&id, patience, Some(&agent), &never).await.unwrap();
    assert_eq!(jobs.read(&id, Some(&agent)).unwrap().text, said);
}
