//! The configuration of the plugin `shell-env`.

use std::ffi::OsString;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What commands are told about the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The user's folder. Without this it is `DSH_HOME` of the host, else `~/.dsh`.
    pub home: Option<PathBuf>,
}

/// Nothing tells the user's folder.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("shell-env: neither DSH_HOME nor a home folder is known: set DSH_HOME, or `home` of this plugin")]
pub struct NoHome;

impl Config {
    pub(crate) fn home(&self) -> Result<PathBuf, NoHome> {
        let ambient = || ambient_home(std::env::var_os("DSH_HOME"), std::env::home_dir());
        self.home.clone().or_else(ambient).ok_or(NoHome)
    }
}

fn ambient_home(named: Option<OsString>, of_user: Option<PathBuf>) -> Option<PathBuf> {
    let named = named.filter(|named| !named.to_string_lossy().trim().is_empty()).map(PathBuf::from);
    let Some(named) = named else { return of_user.map(|home| home.join(".dsh")) };
    match (named.strip_prefix("~"), of_user) {
        (Ok(rest), Some(of_user)) => Some(of_user.join(rest)),
        _ => Some(named),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: fs-shell-sandbox/F99
    #[test]
    fn the_users_folder_is_the_named_one_or_that_of_the_home_folder() {
        for (named, of_user, home) in [
            (Some("/srv/dsh"), Some("/home/u"), Some("/srv/dsh")),
            (Some("/srv/dsh"), None, Some("/srv/dsh")),
            (Some("~/dsh"), Some("/home/u"), Some("/home/u/dsh")),
            (Some("~/dsh"), None, Some("~/dsh")),
            (Some(" "), Some("/home/u"), Some("/home/u/.dsh")),
            (None, Some("/home/u"), Some("/home/u/.dsh")),
            (None, None, None),
        ] {
            let found = ambient_home(named.map(OsString::from), of_user.map(PathBuf::from));
            assert_eq!(found, home.map(PathBuf::from), "{named:?} {of_user:?}");
        }
    }
}
