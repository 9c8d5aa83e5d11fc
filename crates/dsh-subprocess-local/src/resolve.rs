//! From a program's name to its file.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dsh_subprocess::ResolveError;
use rustix::fs::{Access, access};

use crate::plugin::NAME;

/// The file that `program` stands for; a bare name is looked for in `folders`, as `PATH` has them.
pub(crate) fn resolve(program: &OsStr, folders: Option<&OsStr>) -> Result<PathBuf, ResolveError> {
    let path = Path::new(program);
    if path.is_absolute() {
        return if is_executable(path) {
            Ok(path.to_owned())
        } else {
            Err(ResolveError::NotExecutable { provider: NAME, program: path.to_owned() })
        };
    }
    if program.as_encoded_bytes().contains(&b'/') {
        return Err(ResolveError::Relative { provider: NAME, program: program.to_owned() });
    }
    let folders = folders.map(env::split_paths).into_iter().flatten();
    // A relative folder would mean another one wherever the host happens to be.
    folders
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| is_executable(file))
        .ok_or_else(|| ResolveError::NotFound { provider: NAME, program: program.to_owned() })
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}
