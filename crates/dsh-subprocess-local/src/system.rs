//! What the system tells of all its processes, where it does.

use std::collections::HashSet;
#[cfg(target_os = "linux")]
use std::fs;
use std::io;
use std::sync::Arc;

use rustix::process::Pid;

use crate::batch::Batch;

/// Looks which groups live, once for all who want to know.
pub(crate) type Looks = Batch<(), Living>;

/// The groups in which a process runs; none if the system does not tell.
pub(crate) type Living = Option<Arc<HashSet<Pid>>>;

/// See [`Looks`].
pub(crate) fn looks() -> Looks {
    Batch::new(|_| match living_groups() {
        Ok(living) => living.map(Arc::new),
        Err(error) => {
            tracing::warn!(%error, "cannot look for what runs; what was to be found out is looked for again");
            None
        }
    })
}

/// The processes that there are.
///
/// # Errors
/// They cannot be listed. That does not mean that there are none.
#[cfg(target_os = "linux")]
pub(crate) fn processes() -> io::Result<Vec<Pid>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let id = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        processes.extend(id.and_then(Pid::from_raw));
    }
    Ok(processes)
}

/// What a file of a process holds; none if the process is gone or keeps it from us.
///
/// # Errors
/// It cannot be told for another reason, as that no file can be opened.
#[cfg(target_os = "linux")]
pub(crate) fn told_of(process: Pid, file: &str) -> io::Result<Option<Vec<u8>>> {
    match fs::read(format!("/proc/{process}/{file}")) {
        Ok(told) => Ok(Some(told)),
        Err(error) if is_of_process(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
fn is_of_process(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let of_process = [Errno::NOENT, Errno::SRCH, Errno::ACCESS, Errno::PERM];
    Errno::from_io_error(error).is_some_and(|error| of_process.contains(&error))
}

/// The groups in which a process runs; none if the system does not tell. Blocks for some milliseconds.
#[cfg(target_os = "linux")]
fn living_groups() -> io::Result<Option<HashSet<Pid>>> {
    if !fs::exists("/proc/self/stat")? {
        return Ok(None);
    }
    let mut living = HashSet::new();
    for process in processes()? {
        living.extend(told_of(process, "stat")?.as_deref().and_then(living_group));
    }
    Ok(Some(living))
}

/// The group of a process that has not ended.
#[cfg(target_os = "linux")]
fn living_group(stat: &[u8]) -> Option<Pid> {
    // Behind the program's name, which may hold anything: the state, the parent and the group.
    let stat = String::from_utf8_lossy(stat);
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let group = fields.nth(1)?.parse().ok()?;
    if has_ended { None } else { Pid::from_raw(group) }
}

#[cfg(not(target_os = "linux"))]
fn living_groups() -> io::Result<Option<HashSet<Pid>>> {
    Ok(None)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use rustix::process::{Pid, WaitId, WaitIdOptions, test_kill_process_group, waitid};

    use super::{is_of_process, living_groups};

    #[test]
    fn only_what_is_wrong_with_a_process_says_that_there_is_nothing_to_tell_of_it() {
        use rustix::io::Errno;
        let of_process = |errno| is_of_process(&io::Error::from(errno));
        assert!([Errno::NOENT, Errno::SRCH, Errno::ACCESS, Errno::PERM].into_iter().all(of_process));
        assert!(![Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::IO].into_iter().any(of_process));
        assert!(!is_of_process(&io::Error::other("no number")));
    }

    #[test]
    fn a_group_lives_as_long_as_something_of_it_runs() {
        let mut sleeper = Command::new("sleep").arg("300").process_group(0).spawn().unwrap();
        let id = Pid::from_child(&sleeper);
        let lives = || living_groups().unwrap().unwrap().contains(&id);
        assert!(lives());
        sleeper.kill().unwrap();
        waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        assert_eq!(test_kill_process_group(id), Ok(()), "it was not reaped");
        assert!(!lives());
        sleeper.wait().unwrap();
    }
}
