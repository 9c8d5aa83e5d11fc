//! The variables of the host that commands find.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use cordis::{BoxError, Context, Effect};
use dsh_agent::Agent;
use dsh_session::{Location, PERSISTENCE};
use thiserror::Error;

use crate::contributor::Contributor;
use crate::registry::{ContributorError, Registry};

const HOME: &str = "DSH_HOME";
const SHELL: &str = "DSH_SHELL";
const SESSION_ID: &str = "DSH_SESSION_ID";
const SESSION_JSONL: &str = "DSH_SESSION_JSONL";

/// What no contributor can give.
pub(crate) const RESERVED: [&str; 4] = [HOME, SHELL, SESSION_ID, SESSION_JSONL];

/// The variables of the host that commands find: those of the harness, and those that plugins contribute.
///
/// What is contributed through an agent's context is for that agent and those below its scope, and goes with it; everything
/// else is for all. Of two contributors of one name, and of two values of one variable, the nearer one counts.
///
/// # Examples
/// ```
/// use cordis::{App, BoxError};
/// use dsh_shell::{Config, Contributor, SHELL_ENV};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let app = App::new()?;
/// let config = Config { home: Some("/home/me/.dsh".into()) };
/// app.plugin(dsh_shell::plugin(), config)?.ready().await?;
/// let env = app.get(SHELL_ENV).ok_or("no environment")?;
///
/// let lang = Contributor::new("lang", |_agent| Ok([("LANG".to_owned(), "C.UTF-8".to_owned())].into()));
/// env.get()?.register(&app, lang.variable("LANG", "The language of programs."))?;
///
/// let variables = env.get()?.for_agent(None)?;
/// assert_eq!(variables["LANG"], "C.UTF-8");
/// assert_eq!(variables["DSH_HOME"], "/home/me/.dsh");
/// # Ok(())
/// # }
/// ```
///
/// Source: service `shellEnv`.
pub struct ShellEnv {
    home: PathBuf,
    registry: Registry,
}

/// The variables of an agent's commands are not known.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EnvError {
    /// A contributor failed.
    #[error("bash env contributor \"{contributor}\" of `{plugin}` failed")]
    Contributor {
        /// Its name.
        contributor: String,
        /// Its plugin.
        plugin: String,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// A contributor gave what it had not declared.
    #[error("bash env contributor \"{contributor}\" gave {variable}, which it does not declare")]
    Undeclared {
        /// The contributor.
        contributor: String,
        /// The variable.
        variable: String,
    },
    /// A value cannot be given to a program.
    #[error("bash env contributor \"{contributor}\" gave {variable} a value with a NUL character")]
    Nul {
        /// The contributor.
        contributor: String,
        /// The variable.
        variable: String,
    },
    /// A path of the harness is no text.
    #[error("{variable} cannot be given to commands: \"{}\" is not valid UTF-8", path.display())]
    NotText {
        /// The variable.
        variable: &'static str,
        /// The path.
        path: PathBuf,
    },
}

impl ShellEnv {
    /// An environment without contributors.
    #[must_use]
    pub fn new(home: PathBuf) -> Self {
        Self { home, registry: Registry::new() }
    }

    /// Has commands find variables of a plugin, for as long as `ctx` lives; for an agent, on that agent's context.
    ///
    /// # Errors
    /// See [`ContributorError`].
    pub fn register(&self, ctx: &Context, contributor: Contributor) -> Result<Effect, ContributorError> {
        self.registry.register(ctx, contributor)
    }

    /// What the commands of an agent find, or those of nobody.
    ///
    /// # Errors
    /// See [`EnvError`]; one contributor that fails leaves no environment, so that no command runs without what it needs.
    pub fn for_agent(&self, agent: Option<&Agent>) -> Result<BTreeMap<String, String>, EnvError> {
        let mut env = BTreeMap::new();
        for contributor in self.registry.seen(agent.map(Agent::scope)) {
            env.extend(contributor.values(agent)?);
        }
        let mut set = |name: &str, value: String| env.insert(name.to_owned(), value);
        set(HOME, text(HOME, &self.home)?);
        set(SHELL, "1".to_owned());
        if let Some(agent) = agent {
            set(SESSION_ID, agent.id().to_string());
            if let Some(log) = log(agent) {
                set(SESSION_JSONL, text(SESSION_JSONL, &log)?);
            }
        }
        Ok(env)
    }
}

/// The file that an agent's session is written to, if it is one of lines.
fn log(agent: &Agent) -> Option<PathBuf> {
    let persistence = agent.context().get(PERSISTENCE)?;
    match persistence.get().ok()?.locate(agent.session().header())? {
        Location::Jsonl { path } => Some(path),
        _ => None,
    }
}

fn text(variable: &'static str, path: &Path) -> Result<String, EnvError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| EnvError::NotText { variable, path: path.to_owned() })
}

impl fmt::Debug for ShellEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellEnv").field("home", &self.home).finish_non_exhaustive()
    }
}
