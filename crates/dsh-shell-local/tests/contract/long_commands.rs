//! Commands that are too long for an argument.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use dsh_shell::{ShellRequest, ShellResult};
use futures_util::FutureExt as _;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use crate::fixture::{Fixture, number_in, until};
use crate::scripted::Scripted;

const ARGUMENT_BYTES: usize = 131_071;

/// A command of this length that ends with these lines.
fn long(bytes: usize, last: &str) -> String {
    format!(": {}\n{last}", "x".repeat(bytes - last.len() - 3))
}

/// The same lines as they are and behind a line that makes them too long; the line counts in both.
async fn both(fixture: &Fixture, lines: &str) -> [ShellResult; 2] {
    let short = fixture.bash(&format!(":\n{lines}")).await;
    let long = fixture.bash(&long(200_000, lines)).await;
    [short, long]
}

/// The folder of the command's file, as the command line of the process tells it.
fn script_of(id: i32) -> Option<PathBuf> {
    folder_in(&std::fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?)
}

fn folder_in(line: &str) -> Option<PathBuf> {
    let at = line.find("/dsh-command-")?;
    let from = line[..at].rfind('\'')? + 1;
    let to = from + line[from..].find('\'')?;
    Path::new(&line[from..to]).parent().map(Path::to_owned)
}

#[tokio::test]
async fn a_command_may_be_of_any_length() {
    let fixture = Fixture::new().await;
    for bytes in [ARGUMENT_BYTES - 1, ARGUMENT_BYTES, ARGUMENT_BYTES + 1, 131_073, 3_000_000] {
        let command = long(bytes, "echo $0 $# ${#BASH_EXECUTION_STRING}");
        assert_eq!(command.len(), bytes);
        let result = fixture.bash(&command).await;
        let said = result.stdout.cut.head;
        assert_eq!(result.stderr.cut.head, "");
        // What bash was given: the command itself up to the border, beyond it only where it is.
        let given: usize = said.strip_prefix("bash 0 ").unwrap().trim_end().parse().unwrap();
        assert_eq!(given == bytes, bytes <= ARGUMENT_BYTES, "{bytes}: {given}");
    }
}

#[tokio::test]
async fn a_long_command_is_told_and_ends_like_a_short_one() {
    let fixture = Fixture::new().await;
    for lines in [
        "echo $0 $# $LINENO\n\nnosuch",
        "cd /nowhere\necho ${LINENO}\nexit 7",
        "trap 'echo bye' EXIT; false",
        "set -eu\necho a\necho $nope\necho b",
        "kill -9 $$",
        "cat; echo \"$(echo 'quo\"ted')\" `echo \\$x` '\\n' é€😀",
        "cat <<'E'\n  $x \\n\nE\n",
        "echo a \\\n",
        "echo a \\",
        "return 3; echo after",
        "exec sh -c 'echo replaced; exit 9'",
    ] {
        let [short, long] = both(&fixture, lines).await;
        assert_eq!(short, long, "{lines:?}");
    }
}

#[tokio::test]
async fn of_a_long_command_with_a_syntax_error_what_is_before_it_runs_and_the_code_is_2() {
    let fixture = Fixture::new().await;
    let results = both(&fixture, "echo a\n)\n").await;
    for result in results {
        assert_eq!((result.stdout.cut.head.as_str(), result.exit_code), ("a\n", Some(2)));
        assert!(result.stderr.cut.head.contains("line 3: syntax error"), "{result:?}");
    }
}

#[tokio::test]
async fn only_the_user_can_read_the_file_and_it_is_gone_when_the_command_is() {
    let fixture = Fixture::new().await;
    let command = long(200_000, "echo $$ > id; until [ -e go ]; do sleep 0.02; done");
    let running = fixture.run(ShellRequest::new(command));
    let (_, folder) = tokio::join!(running, async {
        let folder = script_of(number_in(&fixture.path("id")).await).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&folder), mode(&folder.join("command"))), (0o700, 0o600));
        std::fs::write(fixture.path("go"), "").unwrap();
        folder
    });
    assert!(!folder.exists());
}

#[tokio::test]
async fn the_file_of_a_command_that_nobody_waits_for_any_more_is_removed() {
    let fixture = Fixture::new().await;
    let command = long(200_000, "echo $$ > id; sleep 300");
    let running = fixture.shell.get().unwrap().run(fixture.resolve(ShellRequest::new(command)));
    let folder = tokio::select! {
        _ = running => panic!("ended by itself"),
        folder = async { script_of(number_in(&fixture.path("id")).await).unwrap() } => folder,
    };
    until("the folder is removed", || !folder.exists()).await;
}

#[tokio::test]
async fn the_file_of_a_background_command_is_removed_when_it_has_ended_or_is_let_go() {
    let fixture = Fixture::new().await;
    for is_dropped in [true, false] {
        let command = long(200_000, "echo $$ > id; until [ -e go ]; do sleep 0.02; done");
        let job = fixture.start(&command);
        let folder = script_of(number_in(&fixture.path("id")).await).unwrap();
        assert!(folder.exists());
        if is_dropped {
            drop(job);
        } else {
            std::fs::write(fixture.path("go"), "").unwrap();
            job.done().await;
            job.read_output();
        }
        until("the folder is removed", || !folder.exists()).await;
        std::fs::remove_file(fixture.path("id")).unwrap();
    }
}

/// Keeps the thread that may wait for the disk busy until it is dropped.
fn busy() -> mpsc::Sender<()> {
    let (busy, ended) = mpsc::channel();
    spawn_blocking(move || ended.recv());
    busy
}

#[test]
fn nobody_waits_for_the_disk_while_a_file_is_written_or_removed() {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let scripted = Scripted::new(|| true).await;
        let shell = scripted.shell.get().unwrap();
        let disk = busy();
        let request = ShellRequest::new(long(200_000, "true"));
        let mut running = shell.run(shell.resolve(request).unwrap());
        assert!((&mut running).now_or_never().is_none());
        assert!(scripted.started().is_empty());
        drop(disk);
        tokio::select! {
            _ = &mut running => panic!("ended by itself"),
            () = until("the command is started", || !scripted.started().is_empty()) => {}
        }
        let folder = folder_in(&scripted.started()[0]).unwrap();
        let disk = busy();
        drop(running);
        assert!(folder.exists());
        drop(disk);
        until("the folder is removed", || !folder.exists()).await;
    });
}

#[tokio::test]
async fn a_command_whose_file_is_gone_fails_instead_of_doing_nothing() {
    let fixture = Fixture::new().await;
    // What bash was given is run once more without the file.
    let again =
        "file=${BASH_EXECUTION_STRING#*\\'}; rm \"${file%%\\'*}\"; bash -c \"$BASH_EXECUTION_STRING\"";
    let result = fixture.bash(&long(200_000, again)).await;
    assert_eq!(result.exit_code, Some(126), "{result:?}");
    assert_eq!(result.stderr.cut.head, "bash: the file with the command is gone\n");
}
