//! Where a log comes from, and reading it.

use std::fmt::{self, Display};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use dsh_session::{Problem, SessionLog};

use crate::exit::{Failure, say};
use crate::visible::visible;

/// How standard input is called on the command line.
const STANDARD_INPUT: &str = "-";

/// Where a log comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    StandardInput,
}

impl Source {
    /// The source that an argument names.
    pub(crate) fn named(argument: &Path) -> Self {
        if argument == Path::new(STANDARD_INPUT) {
            Self::StandardInput
        } else {
            Self::File(argument.to_owned())
        }
    }

    /// How the command line calls it.
    pub(crate) fn argument(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::StandardInput => STANDARD_INPUT.to_owned(),
        }
    }

    /// Reads all of the log.
    pub(crate) fn read(&self) -> Result<SessionLog, Failure> {
        let bytes =
            self.bytes().with_context(|| format!("cannot read {self}")).map_err(Failure::bad_input)?;
        if let Some(reason) = no_json(&bytes) {
            return Err(Failure::bad_input(anyhow!("{self}: line 1: {reason}")));
        }
        let log = SessionLog::parse(&bytes).map_err(|error| {
            let problem = visible(&error.problem.to_string());
            Failure::bad_input(anyhow!("{self}: line {}: {problem}", error.line))
        })?;
        match &log.torn {
            None => {}
            // Cut while it was written: it was never part of the log.
            Some(torn) if torn.problem == Problem::Unended => say(format_args!(
                "{self}: line {}: the last line is cut off after {} bytes and was left out",
                torn.line, torn.bytes
            )),
            Some(torn) => {
                let problem = visible(&torn.problem.to_string());
                return Err(Failure::bad_input(anyhow!("{self}: line {}: {problem}", torn.line)));
            }
        }
        Ok(log)
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::File(path) => fs::read(path),
            Self::StandardInput => {
                let mut bytes = Vec::new();
                io::stdin().lock().read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// Safe to print.
impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(&visible(&path.display().to_string())),
            Self::StandardInput => f.write_str("standard input"),
        }
    }
}

/// What the first bytes say of a file that cannot be a log, where the parser would only see that it is none.
fn no_json(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        Some("the log is compressed with gzip: unpack it first (`gunzip -c FILE > LOG`)")
    } else if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        Some(
            "the log starts with a byte order mark (the bytes EF BB BF): remove it (`tail -c +4 FILE > LOG`)",
        )
    } else {
        None
    }
}
