//! What is started, and what is refused.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use dsh_subprocess::{SpawnError, SpawnSpec};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, bounded, code, stderr, stdout};

// spec: fs-shell-sandbox/F89
#[tokio::test]
async fn output_errors_and_exit_code_are_kept_apart() {
    for fixture in Fixture::both().await {
        let process = fixture.spawn(fixture.bash("printf out; echo err >&2; exit 3"));
        assert_eq!(bounded(process.collected()).await.unwrap(), code(3));
        assert_eq!((stdout(&process).head.as_str(), stderr(&process).head.as_str()), ("out", "err\n"));
    }
}

// spec: fs-shell-sandbox/F91
#[tokio::test]
async fn a_process_leads_a_group_and_its_id_is_the_groups() {
    for (fixture, leads_a_session) in Fixture::both().await.into_iter().zip([false, true]) {
        let process = fixture.spawn(fixture.bash("cut -d' ' -f4-6 /proc/$$/stat | tr ' ' '\\n'"));
        assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
        let text = stdout(&process).head;
        let fields: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
        let [parent, group, session] = *fields else { panic!("{text}") };
        assert_eq!((parent, group), (std::process::id(), process.id()));
        assert_eq!(session == process.id(), leads_a_session);
    }
}

#[tokio::test]
async fn the_program_is_called_what_it_was_asked_for_as_and_runs_where_it_was_asked_to() {
    let fixture = Fixture::new().await;
    let folder = fixture.folder.path().canonicalize().unwrap();
    let (exit, text) = fixture.run("echo $0; pwd -P").await;
    assert_eq!((exit, text), (code(0), format!("bash\n{}\n", folder.display())));
}

// spec: fs-shell-sandbox/F89
#[tokio::test]
async fn no_program_is_an_error() {
    let fixture = Fixture::new().await;
    for argv in [vec![], vec![OsString::new()], vec![OsString::new(), "x".into()]] {
        let error = fixture.try_spawn(SpawnSpec::new(argv)).unwrap_err();
        assert_eq!(error.to_string(), "invalid argv: expected a non-empty program name at argv[0]");
    }
}

// spec: fs-shell-sandbox/F89
#[tokio::test]
async fn a_grace_time_is_one_that_a_timer_takes() {
    let fixture = Fixture::new().await;
    for (grace, is_fine) in [
        (Duration::ZERO, false),
        (Duration::from_millis(1), true),
        (Duration::from_millis(2_147_483_647), true),
        (Duration::from_millis(2_147_483_648), false),
        (Duration::MAX, false),
    ] {
        let mut spec = fixture.bash("true");
        spec.grace = grace;
        match fixture.try_spawn(spec) {
            Ok(process) => {
                assert!(is_fine, "{grace:?}");
                assert_eq!(bounded(process.exited()).await.unwrap(), code(0));
            }
            Err(error) => {
                assert!(!is_fine, "{grace:?}");
                assert!(matches!(error, SpawnError::Grace { .. }), "{error:?}");
                let text = error.to_string();
                assert!(text.contains("graceMs") && text.contains("2147483647"), "{text}");
            }
        }
    }
}

// spec: fs-shell-sandbox/F89
#[tokio::test]
async fn what_is_cancelled_before_does_not_start() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash("touch started");
    spec.cancellation = CancellationToken::new();
    spec.cancellation.cancel();
    let error = fixture.try_spawn(spec).unwrap_err();
    assert_eq!(error.to_string(), "aborted before spawn");
    fixture.unload().await;
    assert!(!fixture.path("started").exists());
}

#[tokio::test]
async fn a_folder_that_is_none_is_told_apart_from_a_missing_program() {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("file"), "").unwrap();
    for (name, kind) in
        [("missing", std::io::ErrorKind::NotFound), ("file", std::io::ErrorKind::NotADirectory)]
    {
        let mut spec = fixture.bash("pwd");
        spec.cwd = Some(fixture.path(name));
        match fixture.try_spawn(spec).unwrap_err() {
            SpawnError::Cwd { cwd, source } => assert_eq!((cwd, source.kind()), (fixture.path(name), kind)),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn what_the_system_refuses_is_an_error() {
    let fixture = Fixture::new().await;
    let nul = || OsString::from_vec(b"a\0b".to_vec());
    let refused: [fn(&mut SpawnSpec, OsString); 2] =
        [|spec, nul| spec.argv.push(nul), |spec, _| spec.argv.push("x".repeat(8 << 20).into())];
    for change in refused {
        let mut spec = fixture.bash("true");
        change(&mut spec, nul());
        let error = fixture.try_spawn(spec).unwrap_err();
        assert!(matches!(error, SpawnError::Start { .. }), "{error:?}");
    }
    // A script without an interpreter that is there.
    let script = fixture.path("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let error = fixture.try_spawn(SpawnSpec::new([&script])).unwrap_err();
    assert!(matches!(error, SpawnError::Start { .. }), "{error:?}");
}

#[tokio::test]
async fn a_variable_that_is_none_is_refused_by_its_name() {
    let fixture = Fixture::new().await;
    for (name, value) in [("", "x"), ("A=B", "x"), ("=", "x"), ("N\0", "x"), ("N", "x\0y")] {
        let mut spec = fixture.bash("touch started");
        spec.env.set(name, value);
        let error = fixture.try_spawn(spec).unwrap_err();
        assert!(matches!(&error, SpawnError::Variable { name: told } if told == name), "{error:?}");
        assert!(error.to_string().starts_with(&format!("invalid variable {name:?}: ")), "{error}");
    }
    let mut spec = fixture.bash("printf %s \"$1$N\"");
    spec.env.set("N", "=x=");
    spec.env.remove("A=B");
    let process = fixture.spawn(spec);
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    assert_eq!(stdout(&process).head, "=x=");
    assert!(!fixture.path("started").exists());
}
