//! What a request becomes before anything runs.

use std::path::Path;
use std::time::Duration;

use dsh_shell::{ShellError, ShellRequest};
use dsh_shell_local::Config;

use crate::fixture::{Fixture, limited};

// spec: fs-shell-sandbox/F94, fs-shell-sandbox/F95
#[tokio::test]
async fn the_time_limit_is_the_requested_or_the_default_one_but_never_above_the_maximum() {
    let ms = Duration::from_millis;
    let config = Config { timeout_ms: 200, max_timeout_ms: 300, ..Config::default() };
    let fixture = Fixture::with(config).await;
    assert_eq!(fixture.resolve(ShellRequest::new("true")).timeout, ms(200));
    assert_eq!(fixture.resolve(limited("true", ms(250))).timeout, ms(250));
    assert_eq!(fixture.resolve(limited("true", ms(301))).timeout, ms(300));
    assert_eq!(fixture.resolve(limited("true", Duration::MAX)).timeout, ms(300));

    let config = Config { timeout_ms: 400, max_timeout_ms: 300, ..Config::default() };
    assert_eq!(Fixture::with(config).await.resolve(ShellRequest::new("true")).timeout, ms(300));
}

// spec: fs-shell-sandbox/F95
#[tokio::test]
async fn a_caller_can_raise_the_limit_of_the_output_only() {
    let fixture = Fixture::with(Config { max_output_bytes: 100, ..Config::default() }).await;
    for (wanted, given) in [(None, 100), (Some(10), 100), (Some(100), 100), (Some(1_000), 1_000)] {
        let spec = fixture.resolve(ShellRequest { max_stdout_bytes: wanted, ..ShellRequest::new("true") });
        assert_eq!((spec.max_stdout_bytes, spec.max_stderr_bytes), (given, 100));
    }
}

// spec: fs-shell-sandbox/F94
#[tokio::test]
async fn a_command_runs_in_an_absolute_folder() {
    let fixture = Fixture::new().await;
    let in_folder = |workdir: &str| {
        let request = ShellRequest { workdir: Some(workdir.into()), ..ShellRequest::new("true") };
        fixture.resolve(request).workdir
    };
    assert_eq!(fixture.resolve(ShellRequest::new("true")).workdir, fixture.folder.path());
    assert_eq!(in_folder("/srv/x"), Path::new("/srv/x"));
    assert_eq!(in_folder("x"), std::env::current_dir().unwrap().join("x"));
}

// spec: fs-shell-sandbox/F94
#[tokio::test]
async fn what_cannot_be_run_is_refused_before_anything_is() {
    let fixture = Fixture::new().await;
    for blank in ["", " \n\t"] {
        let refused = fixture.try_resolve(ShellRequest::new(blank)).unwrap_err();
        assert!(matches!(refused, ShellError::NoCommand), "{refused}");
        assert_eq!(refused.to_string(), "invalid command: expected a non-empty string");
    }
    let refused = fixture.try_resolve(ShellRequest::new("echo a\0b")).unwrap_err();
    assert!(matches!(refused, ShellError::Nul), "{refused}");
    let refused = fixture.try_resolve(limited("true", Duration::ZERO)).unwrap_err();
    assert_eq!(refused.to_string(), "bash-local: request.timeoutMs must be a positive finite number");
}

#[tokio::test]
async fn a_command_with_a_nul_is_refused_even_if_it_never_was_a_request() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.resolve(ShellRequest::new("true"));
    spec.command = "echo a\0b".to_owned();
    let refused = fixture.shell.get().unwrap().run(spec).await.unwrap_err();
    assert!(matches!(refused, ShellError::Nul), "{refused}");
}
