//! Where a command runs.

use std::fs;
use std::path::PathBuf;

use dsh_agent::testing::agent;
use dsh_session::{CreateSession, SessionStore};
use dsh_tool_bash::Config;
use serde_json::json;

use crate::fixture::{Fixture, execute, request};
use crate::scripted::Scripted;

// spec: fs-shell-sandbox/F101
#[tokio::test]
async fn without_a_workspace_a_command_runs_in_the_folder_of_the_session_or_where_the_call_says() {
    let scripted = Scripted::new(Config::default()).await;
    let options = CreateSession { cwd: Some("/home/u/p".to_owned()), ..CreateSession::default() };
    let session = SessionStore::new().create(&scripted.app, options).unwrap();
    let (agent, _) = agent(&scripted.app, session).unwrap();
    for (workdir, of_agent, of_nobody) in [
        (None, Some("/home/u/p"), None),
        (Some("sub"), Some("/home/u/p/sub"), Some("sub")),
        (Some("../.."), Some("/home/u/p/../.."), Some("../..")),
        (Some("/srv"), Some("/srv"), Some("/srv")),
    ] {
        let mut call = json!({ "command": "pwd", "description": "x" });
        if let Some(workdir) = workdir {
            call["workdir"] = json!(workdir);
        }
        for (request, expected) in [(request(&call).agent(&agent), of_agent), (request(&call), of_nobody)] {
            execute(&scripted.app, request).await;
            assert_eq!(scripted.shell.asked()[0].workdir, expected.map(PathBuf::from), "{workdir:?}");
        }
    }
}

// spec: fs-shell-sandbox/F101
#[tokio::test]
async fn an_agent_runs_its_commands_where_its_session_is() {
    let fixture = Fixture::with(|_| Config::default()).await;
    let folder = fixture.path().canonicalize().unwrap();
    fs::create_dir(folder.join("sub")).unwrap();
    let agent = fixture.agent("ada", Some(&folder));
    for (workdir, expected) in [(".", folder.clone()), ("sub", folder.join("sub")), ("/", PathBuf::from("/"))]
    {
        let call = json!({ "command": "pwd", "description": "x", "workdir": workdir });
        let outcome = fixture.execute(request(&call).agent(&agent)).await;
        assert_eq!(outcome.text(), format!("{}\n", expected.display()));
    }
    let call = json!({ "command": "pwd", "description": "x", "workdir": "missing" });
    let outcome = fixture.execute(request(&call).agent(&agent)).await;
    assert!(outcome.is_error() && outcome.text().contains("missing"), "{}", outcome.text());
}

#[tokio::test]
async fn a_workdir_lies_in_the_workspace_under_either_name() {
    let fixture =
        Fixture::with(|config| Config { shown_as: Some("/home/user/project".into()), ..config }).await;
    fs::create_dir(fixture.path().join("sub")).unwrap();
    fs::write(fixture.path().join("sub/here"), "").unwrap();
    let real = fixture.path().join("sub").display().to_string();
    for workdir in ["sub", "./sub/../sub", "/home/user/project/sub", &real] {
        let outcome = fixture.call(json!({ "command": "ls", "description": "x", "workdir": workdir })).await;
        assert_eq!(outcome.text(), "here\n", "{workdir}");
    }
}

#[tokio::test]
async fn a_workdir_outside_the_workspace_is_refused_in_the_background_too() {
    let fixture = Fixture::new().await;
    std::os::unix::fs::symlink("/", fixture.path().join("link")).unwrap();
    fs::write(fixture.path().join("file"), "").unwrap();
    for background in [false, true] {
        for workdir in ["..", "/", "/home/user/project", "link", "link/tmp", "missing", "file"] {
            let call = json!({
                "command": "touch ran", "description": "x", "workdir": workdir, "run_in_background": background,
            });
            let outcome = fixture.call(call).await;
            assert!(outcome.is_error() && outcome.text().contains(workdir), "{}", outcome.text());
        }
    }
    assert!(!fixture.path().join("ran").exists());
    assert_eq!(fixture.jobs(|jobs| jobs.list(None)), []);
}
