//! What a command finds: its environment, its folder and its input.

use std::collections::BTreeMap;

use dsh_shell::{ShellError, ShellRequest};
use dsh_subprocess::Stdin;

use crate::fixture::Fixture;

fn env(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

// spec: fs-shell-sandbox/F96
#[tokio::test]
async fn programs_are_told_not_to_colour_page_or_ask() {
    let fixture = Fixture::new().await;
    let result = fixture.bash("echo $NO_COLOR $TERM $PAGER $GIT_PAGER").await;
    assert_eq!(result.stdout.cut.head, "1 dumb cat cat\n");
    assert_eq!(result.exit_code, Some(0));
}

// spec: fs-shell-sandbox/F96
#[tokio::test]
async fn the_callers_variables_go_over_the_shells_and_the_hosts_over_both() {
    let fixture = Fixture::new().await;
    let request = ShellRequest {
        env: env(&[("TERM", "caller"), ("A", "caller"), ("DSH_SHELL", "caller")]),
        managed_env: env(&[("A", "host"), ("DSH_SHELL", "1")]),
        ..ShellRequest::new("echo $TERM $A $DSH_SHELL $PAGER")
    };
    assert_eq!(fixture.run(request).await.stdout.cut.head, "caller host 1 cat\n");
}

#[tokio::test]
async fn a_command_runs_in_its_folder_and_bash_is_its_name() {
    let fixture = Fixture::new().await;
    let folder = fixture.folder.path().canonicalize().unwrap();
    let result = fixture.bash("pwd -P; echo $0 $#").await;
    assert_eq!(result.stdout.cut.head, format!("{}\nbash 0\n", folder.display()));
}

// spec: fs-shell-sandbox/F97
#[tokio::test]
async fn a_folder_that_is_none_is_an_error_that_names_it() {
    let fixture = Fixture::new().await;
    let workdir = Some(fixture.path("nowhere"));
    let refused = fixture.try_run(ShellRequest { workdir, ..ShellRequest::new("true") }).await.unwrap_err();
    let folder = fixture.path("nowhere");
    assert_eq!(refused.to_string(), format!("cannot run in \"{}\"", folder.display()));
    let ShellError::Workdir { workdir, source } = refused else { panic!("{refused:?}") };
    assert_eq!((workdir, source.kind()), (folder, std::io::ErrorKind::NotFound));
}

#[tokio::test]
async fn a_command_reads_what_it_is_given_and_nothing_otherwise() {
    let fixture = Fixture::new().await;
    for (stdin, read) in [
        (Stdin::Closed, ""),
        (Stdin::Bytes(b"a line\n".to_vec()), "a line\n"),
        // Nobody can write to it.
        (Stdin::Piped, ""),
    ] {
        let result = fixture.run(ShellRequest { stdin, ..ShellRequest::new("cat") }).await;
        assert_eq!((result.stdout.cut.head.as_str(), result.exit_code), (read, Some(0)));
    }
}
