//! An app with a managed environment, and short forms for what tests contribute and see.

use std::collections::BTreeMap;
use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Fiber, Handle, Lease};
use dsh_agent::Agent;
use dsh_session::Session;
use dsh_shell::{Config, Contributor, ContributorError, SHELL_ENV, ShellEnv};

pub(crate) const HOME: &str = "/home/ada/.dsh";

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) plugin: Fiber,
    env: Handle<ShellEnv>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        let plugin = app.plugin(dsh_shell::plugin(), Config { home: Some(HOME.into()) }).unwrap();
        plugin.ready().await.unwrap();
        let env = app.get(SHELL_ENV).unwrap();
        Self { app, plugin, env }
    }

    pub(crate) fn env(&self) -> Lease<'_, ShellEnv> {
        self.env.get().unwrap()
    }

    pub(crate) fn agent(&self, id: &str) -> Agent {
        dsh_agent::testing::agent(&self.app, Session::detached(id)).unwrap().0
    }

    /// What commands find that plugins contributed.
    pub(crate) fn contributed(&self, agent: Option<&Agent>) -> Vec<(String, String)> {
        let env = self.env().for_agent(agent).unwrap();
        env.into_iter().filter(|(name, _)| !name.starts_with("DSH_")).collect()
    }

    pub(crate) fn refusal(&self, contributor: Contributor) -> ContributorError {
        self.env().register(&self.app, contributor).unwrap_err()
    }
}

pub(crate) fn values(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs(variables).into_iter().collect()
}

pub(crate) fn pairs(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A contributor that declares what it gives.
pub(crate) fn giving(name: &str, variables: &[(&str, &str)]) -> Contributor {
    let given = Arc::new(values(variables));
    let contributor = Contributor::new(name, move |_| Ok((*given).clone()));
    declaring(contributor, &variables.iter().map(|(name, _)| *name).collect::<Vec<_>>())
}

pub(crate) fn declaring(contributor: Contributor, names: &[&str]) -> Contributor {
    names.iter().fold(contributor, |contributor, name| contributor.variable(*name, "What the test wants."))
}
