//! From what is asked for to a process that runs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use dsh_subprocess::{Environment, MAX_GRACE, Output, SpawnError, SpawnSpec, Stdin};
use process_wrap::tokio::{CommandWrap, ProcessSession};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use tokio::process::{Child, Command};

use crate::mark::{Mark, VARIABLE};
use crate::resolve::resolve;

/// How the system refuses to start a program: it has no room for another process or pipe, or the file is none to be run. With
/// anything else it may have been started.
const REFUSALS: [Errno; 14] = [
    Errno::ACCESS,
    Errno::AGAIN,
    Errno::INVAL,
    Errno::ISDIR,
    Errno::LOOP,
    Errno::MFILE,
    Errno::NAMETOOLONG,
    Errno::NFILE,
    Errno::NOENT,
    Errno::NOEXEC,
    Errno::NOTDIR,
    Errno::PERM,
    Errno::TOOBIG,
    Errno::TXTBSY,
];

/// How a process is kept from the host's terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// It leads a group. In the background of a terminal it could write to it, and would be stopped if it asked there.
    Group,
    /// It leads a session, which has no terminal. It is started by `fork`, which takes the longer the more memory the host
    /// uses: 85 ms for a gigabyte where a group takes 1.5.
    Session,
}

/// A program that was not started.
pub(crate) struct Unstarted {
    pub(crate) error: SpawnError,
    /// It may run for all that, if only its pipes could not be made use of.
    pub(crate) may_run: bool,
}

impl Leads {
    /// A session only where there is a terminal to be kept from.
    pub(crate) fn of_host() -> Self {
        if fs::File::open("/dev/tty").is_ok() { Self::Session } else { Self::Group }
    }
}

/// The name of the program, for errors.
pub(crate) fn program(spec: &SpawnSpec) -> Result<OsString, SpawnError> {
    spec.argv.first().filter(|program| !program.is_empty()).cloned().ok_or(SpawnError::NoProgram)
}

/// What can be said without the system's help.
pub(crate) fn check(spec: &SpawnSpec) -> Result<(), SpawnError> {
    if spec.grace.is_zero() || spec.grace > MAX_GRACE {
        return Err(SpawnError::Grace { given_ms: spec.grace.as_millis() });
    }
    if spec.cancellation.is_cancelled() {
        return Err(SpawnError::Cancelled);
    }
    if let Some(name) = spec.env.unfit() {
        return Err(SpawnError::Variable { name: name.to_owned() });
    }
    spec.cwd.as_deref().map_or(Ok(()), check_folder)
}

/// Starts the process.
pub(crate) fn launch(spec: &SpawnSpec, mark: &Mark, leads: Leads) -> Result<Child, Unstarted> {
    let program = program(spec)?;
    let file = resolve(&program, std::env::var_os("PATH").as_deref()).map_err(SpawnError::from)?;
    let mut command = command(file, spec, mark);
    let child = match leads {
        Leads::Group => {
            command.process_group(0);
            command.spawn()
        }
        Leads::Session => spawn_session(command),
    };
    child.map_err(|source| Unstarted {
        may_run: !is_refusal(&source),
        error: SpawnError::Start { program, source },
    })
}

fn command(file: PathBuf, spec: &SpawnSpec, mark: &Mark) -> Command {
    let mut command = std::process::Command::new(file);
    if let [name, arguments @ ..] = &*spec.argv {
        command.arg0(name).args(arguments);
    }
    if let Some(cwd) = &spec.cwd {
        command.current_dir(cwd);
    }
    command.env_clear().envs(environment(&spec.env)).env(VARIABLE, mark.value());
    command.stdin(match spec.stdin {
        Stdin::Closed => Stdio::null(),
        Stdin::Bytes(_) | Stdin::Piped => Stdio::piped(),
    });
    command.stdout(stdio(&spec.stdout)).stderr(stdio(&spec.stderr));
    Command::from(command)
}

fn environment(environment: &Environment) -> impl Iterator<Item = (OsString, OsString)> {
    environment.resolve(std::env::vars_os()).into_iter()
}

fn stdio(output: &Output) -> Stdio {
    match output {
        Output::Discarded => Stdio::null(),
        Output::Inherited => Stdio::inherit(),
        Output::Piped | Output::Collected(_) => Stdio::piped(),
    }
}

fn spawn_session(command: Command) -> io::Result<Child> {
    let child = CommandWrap::from(command).wrap(ProcessSession).spawn()?;
    // Its own waiting is for the whole group.
    let child: Box<dyn std::any::Any> = child.into_inner();
    match child.downcast() {
        Ok(child) => Ok(*child),
        Err(_) => Err(io::Error::other("it is no process of this runtime")),
    }
}

fn check_folder(cwd: &Path) -> Result<(), SpawnError> {
    let check = || match fs::metadata(cwd)?.is_dir() {
        true => Ok(access(cwd, Access::EXEC_OK)?),
        false => Err(io::Error::from(io::ErrorKind::NotADirectory)),
    };
    check().map_err(|source| SpawnError::Cwd { cwd: cwd.to_owned(), source })
}

/// Whether the system refused to start the program.
fn is_refusal(error: &io::Error) -> bool {
    // An argument with a NUL has no number.
    let number = Errno::from_io_error(error);
    number.is_some_and(|number| REFUSALS.contains(&number)) || error.kind() == io::ErrorKind::InvalidInput
}

impl From<SpawnError> for Unstarted {
    fn from(error: SpawnError) -> Self {
        Self { error, may_run: false }
    }
}
