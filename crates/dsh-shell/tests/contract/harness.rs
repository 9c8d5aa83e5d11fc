//! What every command finds of the harness.

use std::path::Path;
use std::sync::Arc;

use cordis::State;
use cordis::testing::TestApp;
use dsh_session::{
    Event, Listed, Location, Opened, SESSIONS, SessionHeader, Storage, StorageError, Stored, WriteOptions,
    Writer, persist,
};
use dsh_shell::{Config, EnvError, SHELL_ENV};
use serde_json::json;

use crate::fixture::{Fixture, HOME, values};

/// A storage that only knows where sessions would be.
struct Nowhere(Option<Location>);

impl Storage for Nowhere {
    fn locate(&self, _: &SessionHeader) -> Option<Location> {
        self.0.clone()
    }
    fn create(&self, _: &SessionHeader, _: &[Arc<Event>]) -> Result<Box<dyn Writer>, StorageError> {
        unreachable!("nothing is written")
    }
    fn open(&self, _: &str) -> Result<Option<Opened>, StorageError> {
        unreachable!("nothing is written")
    }
    fn read(&self, _: &str) -> Result<Option<Stored>, StorageError> {
        Ok(None)
    }
    fn list(&self) -> Result<Vec<Listed>, StorageError> {
        Ok(Vec::new())
    }
    fn revision(&self, _: &str) -> Result<Option<String>, StorageError> {
        Ok(None)
    }
}

async fn persisted(fixture: &Fixture, location: Option<Location>) {
    fixture.app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    let store = fixture.app.get(SESSIONS).unwrap();
    persist(&fixture.app, &store, Arc::new(Nowhere(location)), WriteOptions::default()).unwrap();
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn commands_of_nobody_find_the_users_folder_and_that_they_run_in_the_harness() {
    let fixture = Fixture::new().await;
    let env = fixture.env().for_agent(None).unwrap();
    assert_eq!(env, values(&[("DSH_HOME", HOME), ("DSH_SHELL", "1")]));
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn an_agents_commands_find_its_session_as_well() {
    let fixture = Fixture::new().await;
    let env = fixture.env().for_agent(Some(&fixture.agent("s-1"))).unwrap();
    assert_eq!(env, values(&[("DSH_HOME", HOME), ("DSH_SHELL", "1"), ("DSH_SESSION_ID", "s-1")]));
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn where_sessions_are_kept_in_files_of_lines_an_agents_commands_find_its_file() {
    let fixture = Fixture::new().await;
    let path = Path::new("/sessions/s-1/session.jsonl.zstd");
    persisted(&fixture, Some(jsonl(path))).await;
    let env = fixture.env().for_agent(Some(&fixture.agent("s-1"))).unwrap();
    assert_eq!(env["DSH_SESSION_JSONL"], path.to_str().unwrap());
    assert!(!fixture.env().for_agent(None).unwrap().contains_key("DSH_SESSION_JSONL"));
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn where_sessions_are_kept_otherwise_there_is_no_file_to_find() {
    let fixture = Fixture::new().await;
    persisted(&fixture, None).await;
    let env = fixture.env().for_agent(Some(&fixture.agent("s-1"))).unwrap();
    assert!(!env.contains_key("DSH_SESSION_JSONL"), "{env:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_path_that_is_no_text_is_an_error_that_names_the_variable() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = Fixture::new().await;
    let path = Path::new(std::ffi::OsStr::from_bytes(b"/sessions/\xff"));
    persisted(&fixture, Some(jsonl(path))).await;
    let refused = fixture.env().for_agent(Some(&fixture.agent("s-1"))).unwrap_err();
    assert!(matches!(refused, EnvError::NotText { variable: "DSH_SESSION_JSONL", .. }), "{refused}");
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn without_a_configured_folder_it_is_the_hosts_own() {
    let app = TestApp::new();
    let fiber = app.plugin(dsh_shell::plugin(), Config::default()).unwrap();
    let loaded = fiber.ready().await;
    let expected = std::env::var("DSH_HOME").ok().filter(|home| home.starts_with('/'));
    let expected = expected.or_else(|| Some(format!("{}/.dsh", std::env::home_dir()?.display())));
    match expected {
        Some(home) => {
            let env = app.get(SHELL_ENV).unwrap();
            assert_eq!(env.get().unwrap().for_agent(None).unwrap()["DSH_HOME"], home);
        }
        None => {
            loaded.unwrap_err();
            assert_eq!(fiber.state(), State::Failed);
            app.take_errors();
        }
    }
}

#[test]
fn a_configuration_is_read_strictly() {
    let config: Config = serde_json::from_value(json!({ "home": "/srv" })).unwrap();
    assert_eq!(config, Config { home: Some("/srv".into()) });
    assert!(serde_json::from_value::<Config>(json!({ "hom": "/srv" })).is_err());
}

fn jsonl(path: &Path) -> Location {
    Location::Jsonl { path: path.to_owned() }
}
