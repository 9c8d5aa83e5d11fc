//! Which settings are looked at.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::exit::Failure;
use crate::hooks::dialect::Reading;

/// The settings that are there: those that were asked for, or all that agents look at.
pub(crate) fn find(reading: &Reading, given: &[PathBuf], workspace: &Path) -> Result<Vec<PathBuf>, Failure> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    if given.is_empty() {
        return all(reading, workspace, home.as_deref());
    }
    match given.iter().find(|path| !is_there(path)) {
        Some(path) => Err(Failure::bad_input(anyhow!("there are no settings at {}", path.display()))),
        None => Ok(given.to_vec()),
    }
}

fn all(reading: &Reading, workspace: &Path, home: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let (of_workspace, of_user) = reading.places();
    let of_workspace = of_workspace.iter().map(|name| workspace.join(name));
    let of_user = home.into_iter().flat_map(|home| of_user.iter().map(move |name| home.join(name)));
    // Who works at home has one file for both.
    let mut places: Vec<PathBuf> = Vec::new();
    for place in of_workspace.chain(of_user) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let found: Vec<PathBuf> = places.iter().filter(|place| is_there(place)).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let looked: Vec<String> = places.iter().map(|place| format!("\n    {}", place.display())).collect();
    let dialect = reading.dialect;
    Err(Failure::bad_input(anyhow!(
        "there are no settings of {dialect}; looked at:{}\nname a file, or go to the folder that has one",
        looked.concat()
    )))
}

/// What is there and cannot be read is an error of the one who reads it.
fn is_there(path: &Path) -> bool {
    !matches!(fs::metadata(path), Err(error) if error.kind() == ErrorKind::NotFound)
}
