//! From a program's name to its file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dsh_subprocess::{ResolveError, SpawnError, SpawnSpec};

use crate::fixture::{Fixture, bounded, code};

fn resolve(fixture: &Fixture, program: impl AsRef<OsStr>) -> Result<std::path::PathBuf, ResolveError> {
    fixture.subprocess.get().unwrap().resolve_executable(program.as_ref())
}

// spec: fs-shell-sandbox/F88
#[tokio::test]
async fn a_bare_name_is_looked_for_in_the_path() {
    let fixture = Fixture::new().await;
    let bash = resolve(&fixture, "bash").unwrap();
    assert!(bash.is_absolute() && bash.ends_with("bash"), "{}", bash.display());
    let error = resolve(&fixture, "no-such-program").unwrap_err();
    assert_eq!(error.to_string(), "subprocess-local: command \"no-such-program\" was not found on PATH");
}

// spec: fs-shell-sandbox/F88
#[tokio::test]
async fn an_absolute_path_has_to_be_something_that_can_be_run() {
    let fixture = Fixture::new().await;
    assert_eq!(resolve(&fixture, "/bin/sh").unwrap(), Path::new("/bin/sh"));
    let plain = fixture.path("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o600)).unwrap();
    for path in [plain, fixture.folder.path().to_owned(), fixture.path("missing")] {
        let expected = format!("subprocess-local: command \"{}\" is not an executable file", path.display());
        assert_eq!(resolve(&fixture, &path).unwrap_err().to_string(), expected);
    }
}

// spec: fs-shell-sandbox/F88
#[tokio::test]
async fn a_relative_path_is_refused_with_what_to_do_instead() {
    let fixture = Fixture::new().await;
    for path in ["./run", "bin/run", "../run", "bash/"] {
        let error = resolve(&fixture, path).unwrap_err();
        assert_eq!(error, ResolveError::Relative { provider: "subprocess-local", program: path.into() });
        let text = error.to_string();
        assert!(text.contains("absolute path") && text.contains("bare name"), "{text}");
    }
    assert_eq!(
        resolve(&fixture, ""),
        Err(ResolveError::NotFound { provider: "subprocess-local", program: "".into() })
    );
}

// spec: fs-shell-sandbox/F88
#[tokio::test]
async fn what_is_started_is_looked_for_in_the_same_way() {
    let fixture = Fixture::new().await;
    let script = fixture.path("run");
    fs::write(&script, "#!/bin/sh\nexit 7\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let exit = bounded(fixture.spawn(SpawnSpec::new([&script])).exited()).await.unwrap();
    assert_eq!(exit, code(7));
    for missing in ["no-such-program", "./run", "/no/such/program"] {
        let error = fixture.try_spawn(SpawnSpec::new([missing])).unwrap_err();
        assert!(matches!(error, SpawnError::Resolve(_)), "{missing}: {error:?}");
    }
}
