//! A folder to work in, a home, and a model that says what a test wants.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use dsh_testkit::{MockServer, Script};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, at_home};

/// A folder to work in, a home of its own, and maybe a model.
pub(crate) struct Task {
    pub(crate) fixture: Fixture,
    pub(crate) server: Option<MockServer>,
}

impl Task {
    /// Without a key.
    pub(crate) fn new() -> Self {
        let fixture = Fixture::new();
        fs::create_dir(fixture.path("work")).unwrap();
        Self { fixture, server: None }
    }

    /// With a key, and a server that answers with these steps.
    pub(crate) fn answered(steps: Value) -> Self {
        let script = Script::parse(&json!({ "steps": steps }).to_string()).unwrap();
        Self { server: Some(MockServer::start(script).unwrap()), ..Self::new() }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.fixture.path("work").canonicalize().unwrap()
    }

    /// The program in the folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.fixture.command();
        at_home(&mut command, &self.fixture);
        command.current_dir(self.work()).args(arguments);
        if let Some(server) = &self.server {
            command.env("DEEPSEEK_API_KEY", "test-key").env("DEEPSEEK_BASE_URL", server.base_url());
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// The ids of the stored sessions, the newest first.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let ran = self.run(&["session", "ls", "--json"]);
        if ran.stdout.is_empty() {
            return Vec::new();
        }
        let listed: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
        listed.iter().map(|header| header["id"].as_str().unwrap().to_owned()).collect()
    }

    /// The events of the only session.
    pub(crate) fn events(&self) -> Vec<Value> {
        let sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        let ran = self.run(&["session", "show", "--json", &sessions[0]]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The types of the events, without the pieces of answers.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let kinds = self.events().into_iter().map(|event| event["type"].as_str().unwrap().to_owned());
        kinds.filter(|kind| kind != "assistant/chunk").collect()
    }

    /// Why the last turn ended.
    pub(crate) fn reason(&self) -> Value {
        let events = self.events();
        let end = events.iter().rfind(|event| event["type"] == "turn/end");
        end.map_or(Value::Null, |end| end["data"]["reason"].clone())
    }

    /// The text of the result of the only tool call.
    pub(crate) fn result(&self) -> String {
        let events = self.events();
        let results: Vec<&Value> = events.iter().filter(|event| event["type"] == "tool/result").collect();
        assert_eq!(results.len(), 1, "{results:?}");
        let text = &results[0]["data"]["message"]["content"][0]["content"][0]["text"];
        text.as_str().unwrap().to_owned()
    }
}

/// A step that runs a command.
pub(crate) fn bash(command: &str) -> Value {
    json!({ "text": "I run it", "calls": [{ "name": "bash", "arguments": { "command": command, "description": "d" } }] })
}

/// The step that ends a task.
pub(crate) fn done() -> Value {
    json!({ "text": "All done." })
}
