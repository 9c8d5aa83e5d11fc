//! Where what belongs to the user is kept.

use std::path::PathBuf;

use anyhow::anyhow;

use crate::exit::Failure;

/// The user's folder: `DSH_HOME`, else `~/.dsh`.
pub(crate) fn home() -> Result<PathBuf, Failure> {
    let named = std::env::var_os("DSH_HOME").filter(|home| !home.to_string_lossy().trim().is_empty());
    let of_user = std::env::home_dir();
    match (named, of_user) {
        (Some(home), of_user) => {
            let home = PathBuf::from(home);
            match (home.strip_prefix("~"), of_user) {
                (Ok(rest), Some(of_user)) => Ok(of_user.join(rest)),
                _ => Ok(home),
            }
        }
        (None, Some(of_user)) => Ok(of_user.join(".dsh")),
        (None, None) => Err(Failure::bad_input(anyhow!(
            "neither DSH_HOME nor a home folder is known: set DSH_HOME to a folder that can be written"
        ))),
    }
}
