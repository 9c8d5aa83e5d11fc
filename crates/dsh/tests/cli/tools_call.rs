//! One call with all its stations.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, of_type};

fn bash(command: &str) -> String {
    json!({ "command": command, "description": "test" }).to_string()
}

/// `dsh tools call --json OPTIONS` in the fixture's own folder: the exit code and the lines.
fn call(fixture: &Fixture, options: &[&str]) -> (Option<i32>, Vec<Value>) {
    let ran = in_folder(fixture, &[&["--json"], options].concat());
    let lines = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (ran.code, lines)
}

fn in_folder(fixture: &Fixture, options: &[&str]) -> Ran {
    let workspace = fixture.path("tmp").display().to_string();
    fixture.run(&[&["tools", "call", "--workspace", &workspace], options].concat())
}

/// Each station with what happened there.
fn stations(lines: &[Value]) -> Vec<String> {
    of_type(lines, "station")
        .iter()
        .map(|line| format!("{} {}", line["station"].as_str().unwrap(), line["what"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_call_passes_all_stations_in_order() {
    let fixture = Fixture::new();
    let (code, lines) = call(&fixture, &["bash", &bash("echo hi")]);
    assert_eq!(code, Some(0));
    assert_eq!((&lines[0]["type"], &lines[0]["agent"]), (&json!("call"), &json!("cli")));
    let expected = [
        "arguments read",
        "pre-execute asked",
        "pre-execute allow",
        "guards passed",
        "execute begins",
        "body called",
        "output wrote",
        "body succeeded",
        "execute succeeded",
        "post-execute asked",
        "post-execute accept",
        "result succeeded",
    ];
    assert_eq!(stations(&lines), expected);
    let times: Vec<f64> =
        of_type(&lines, "station").iter().map(|line| line["atMs"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let result = lines.last().unwrap();
    assert_eq!(
        (&result["type"], &result["isError"], &result["text"]),
        (&json!("result"), &json!(false), &json!("hi\n"))
    );
    assert!(result["totalMs"].as_f64().unwrap() >= *times.last().unwrap(), "{result}");
}

#[test]
fn the_text_form_ends_with_what_the_model_reads() {
    let fixture = Fixture::new();
    let ran = in_folder(&fixture, &["bash", &bash("printf 'a\\033[2J\\nb'")]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let (trace, read) = ran.stdout.split_once("\nwhat the model reads\n").unwrap();
    assert!(trace.starts_with("call bash as agent `cli` in /"), "{trace}");
    assert!(trace.contains(" ms  output        wrote: a\\u{1b}[2J\n"), "{trace}");
    assert!(read.starts_with("a\\u{1b}[2J\nb\n\nsucceeded in "), "{read}");
    assert!(!ran.stdout.contains('\x1b'));
}

#[test]
fn a_denied_call_reaches_no_body() {
    let fixture = Fixture::new();
    let mark = fixture.path("tmp").join("ran");
    let (code, lines) = call(&fixture, &["bash", &bash("touch ran"), "--deny", "bash"]);
    assert_eq!(code, Some(1));
    let expected = [
        "arguments read",
        "pre-execute asked",
        "pre-execute allow",
        "guards refused",
        "post-execute asked",
        "post-execute accept",
        "result denied",
    ];
    assert_eq!(stations(&lines), expected);
    let result = lines.last().unwrap();
    assert_eq!(
        (&result["denied"], &result["text"]),
        (&json!(true), &json!("Error: tool \"bash\" is denied here"))
    );
    assert!(!mark.exists());
}

#[test]
fn approval_is_asked_for_and_given_or_not() {
    for (answer, said, code, ran) in
        [("yes", "approval allowed-once", Some(0), true), ("no", "approval rejected", Some(1), false)]
    {
        let fixture = Fixture::new();
        let (exit, lines) = call(&fixture, &["bash", &bash("touch ran"), "--approve", answer]);
        assert_eq!(exit, code, "{answer}");
        assert_eq!(stations(&lines)[2..5], ["pre-execute ask", "approval asked", said]);
        assert_eq!(fixture.path("tmp").join("ran").exists(), ran, "{answer}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn approval_is_asked_for_at_the_terminal() {
    use crate::terminal::Terminal;
    for (typed, code, ran) in [("y\n", Some(0), true), ("n\n", Some(1), false)] {
        let fixture = Fixture::new();
        let workspace = fixture.path("tmp").display().to_string();
        let arguments = bash("touch ran");
        let arguments = ["tools", "call", "bash", &arguments, "--approve", "ask", "--workspace", &workspace];
        let terminal = Terminal { typed, question: "[y/n] ", ..Terminal::default() };
        let (exit, shown) = terminal.run(&fixture, &arguments);
        assert_eq!(exit, code, "{shown}");
        assert_eq!(fixture.path("tmp").join("ran").exists(), ran, "{shown}");
    }
}

// spec: cases/P4
#[test]
fn a_deadline_ends_the_call_and_keeps_what_was_written() {
    let fixture = Fixture::new();
    let (code, lines) =
        call(&fixture, &["bash", &bash("echo CRITICAL-PROGRESS; sleep 30"), "--timeout", "2000"]);
    assert_eq!(code, Some(1));
    let told = stations(&lines);
    let ends: Vec<&String> = told.iter().filter(|station| station.contains("failed")).collect();
    // The deadline is between the two.
    assert_eq!(
        ends,
        ["body failed (ABORTED)", "execute failed (TOOL_TIMEOUT)", "result failed (TOOL_TIMEOUT)"]
    );
    let result = lines.last().unwrap();
    assert_eq!(
        (&result["code"], &result["text"]),
        (&json!("TOOL_TIMEOUT"), &json!("CRITICAL-PROGRESS\nError: tool call timed out after 2000ms"))
    );
}

#[test]
fn arguments_that_the_tool_does_not_take_fail_the_call() {
    let fixture = Fixture::new();
    let (code, lines) = call(&fixture, &["bash"]);
    assert_eq!((code, &lines[0]["arguments"]), (Some(1), &json!({})));
    assert!(!stations(&lines).contains(&"body called".to_owned()), "{lines:?}");
    let result = lines.last().unwrap();
    assert_eq!(result["code"], "INVALID_ARGS");
    assert!(stations(&lines).contains(&"body not run".to_owned()), "{lines:?}");
}

#[test]
fn arguments_come_by_standard_input() {
    let fixture = Fixture::new();
    let mut command = fixture.command();
    command.args(["tools", "call", "--json", "bash", "-"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(bash("echo piped").as_bytes()).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(result["text"], "piped\n");
}

#[test]
fn what_is_wrong_with_the_command_line_is_said_and_nothing_runs() {
    let fixture = Fixture::new();
    let touch = bash("touch ran");
    for (options, says) in [
        (&["bash", r#"{"command" "ls"}"#][..], "    {\"command\" \"ls\"}\n               ^\n"),
        (&["bash", r#"{"command":"a","command":"b"}"#], "the key \"command\" is given twice"),
        (&["bsh", &touch], "no tool is called `bsh`; there are: bash, read, job_output, job_list, job_kill"),
        (
            &["bash", &touch, "--deny", "rm"],
            "--deny: no tool is called `rm`; there are: bash, read, job_output, job_list, job_kill",
        ),
        (&["bash", &touch, "--agent", ""], "an agent has a name"),
        (&["bash", &touch, "--timeout", "0"], "milliseconds, at least 1"),
        (&["bash", &touch, "--timeout", "1s"], "milliseconds, at least 1"),
        (&["bash", &touch, "--agent", "a\nb"], "--agent: `a\\nb` has characters that cannot be seen"),
        (&["bash", &touch, "--approve", "maybe"], "ask, yes, no"),
    ] {
        let ran = in_folder(&fixture, options);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{options:?}");
        assert!(ran.stderr.contains(says), "{options:?}: {}", ran.stderr);
    }
    let missing = fixture.run(&["tools", "call", "bash", &touch, "--workspace", "/does/not/exist"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("/does/not/exist"), "{}", missing.stderr);
    assert!(!fixture.path("tmp").join("ran").exists());
}

/// A call of a command that makes the file `begun`, once it has.
fn begun(fixture: &Fixture, command: &str) -> Child {
    let workspace = fixture.path("tmp");
    let mut dsh = fixture.command();
    dsh.args(["tools", "call", "bash", &bash(command), "--json", "--workspace"]).arg(&workspace);
    let child = dsh.spawn().unwrap();
    while !workspace.join("begun").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
}

#[test]
fn an_interruption_cancels_the_call_which_still_comes_to_its_result() {
    let fixture = Fixture::new();
    let child = begun(&fixture, "echo part; touch begun; exec sleep 60");
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let result: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&result["code"], &result["text"]),
        (&json!("ABORTED"), &json!("part\nError: tool call aborted"))
    );
}

#[test]
fn a_second_interruption_does_not_wait_for_the_body() {
    let fixture = Fixture::new();
    let stubborn = "trap '' TERM; touch begun; for i in $(seq 200); do sleep 0.05; echo x >> beat; done";
    let mut child = begun(&fixture, stubborn);
    interrupt(&child);
    // Two signals that nobody has looked at yet are one: the first has been heard when the user is told to wait.
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    said.read_line(&mut stderr).unwrap();
    assert!(stderr.contains("Ctrl-C again"), "{stderr}");
    interrupt(&child);
    said.read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(stderr.contains("interrupted; not everything would end"), "{stderr}");
    let size = || fs::metadata(fixture.path("tmp").join("beat")).map_or(0, |file| file.len());
    let before = size();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(), before);
}

#[test]
fn a_reader_that_goes_away_ends_the_call_and_one_line_says_so() {
    let fixture = Fixture::new();
    let mut command = fixture.command();
    command.args(["tools", "call", "bash", &bash("while :; do echo y; sleep 0.01; done")]);
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap());
    let said = "dsh: the call was cancelled; nobody reads the output any more\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), said));
}

#[test]
fn a_closed_standard_output_is_told_of_and_one_that_is_thrown_away_is_not() {
    let fixture = Fixture::new();
    let told = |redirection: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(format!("exec \"$0\" \"$@\" {redirection}")).arg(env!("CARGO_BIN_EXE_dsh"));
        shell.args(["tools", "call", "bash", &bash("true")]).env("TMPDIR", fixture.path("tmp"));
        Ran::from(shell.output().unwrap()).stderr
    };
    assert!(told(">&-").starts_with("dsh: standard output is closed"));
    assert_eq!(told(">/dev/null"), "");
}

#[test]
fn a_failure_is_told_once() {
    let fixture = Fixture::new();
    for options in [&["bash"][..], &["bash", &bash("true"), "--deny", "bash"]] {
        let ran = in_folder(&fixture, options);
        let (trace, read) = ran.stdout.split_once("\nwhat the model reads\n").unwrap();
        let message = read.lines().next().unwrap().trim_start_matches("Error: ");
        assert!(!message.is_empty() && !trace.contains(message), "{}", ran.stdout);
    }
}

#[test]
fn of_a_burst_of_lines_the_first_are_told_and_how_many_follow() {
    let fixture = Fixture::new();
    let ran = in_folder(&fixture, &["bash", &bash("seq 1 2000")]);
    let (trace, read) = ran.stdout.split_once("\nwhat the model reads\n").unwrap();
    let told: Vec<&str> =
        trace.lines().filter_map(|line| Some(line.split_once("  output        ")?.1)).collect();
    assert_eq!(told[0], "wrote: 1");
    let more = |line: &str| {
        let count = line.strip_prefix("and ")?.split(' ').next()?;
        count.parse::<usize>().ok()
    };
    let lines: usize = told.iter().map(|line| more(line).unwrap_or(1)).sum();
    // A line that comes in two pieces may be told twice, though not counted twice.
    assert!((2_000..2_010).contains(&lines), "{told:?}");
    assert!(told.len() < 1_000, "{told:?}");
    assert!(read.starts_with("1\n2\n3\n"), "{read}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_question_that_is_left_ends_its_line() {
    use crate::terminal::Terminal;
    for (typed, code, said) in [("\x04", Some(1), "unavailable"), ("\x03", Some(130), "cancelled")] {
        let fixture = Fixture::new();
        let workspace = fixture.path("tmp").display().to_string();
        let arguments = bash("touch ran");
        let arguments = ["tools", "call", "bash", &arguments, "--approve", "ask", "--workspace", &workspace];
        let terminal = Terminal { typed, question: "[y/n] ", ..Terminal::default() };
        let (exit, shown) = terminal.run(&fixture, &arguments);
        assert_eq!(exit, code, "{shown}");
        let plain = ["2", "31", "36", "0"]
            .iter()
            .fold(shown.clone(), |shown, colour| shown.replace(&format!("\x1b[{colour}m"), ""));
        let station = plain.lines().find(|line| line.ends_with(&format!("approval      {said}"))).unwrap();
        assert!(!station.contains("[y/n]"), "{shown}");
        assert_eq!(plain.contains("dsh: interrupted, nothing was run"), said == "cancelled", "{shown}");
        assert!(!fixture.path("tmp").join("ran").exists(), "{shown}");
    }
}

#[test]
fn the_help_says_what_is_run_and_where() {
    let help = Fixture::new().run(&["tools", "call", "--help"]).stdout;
    for said in [
        "not confined",
        "--approve",
        "--timeout",
        "Exit codes:",
        "dsh tools call read",
        "waiting for approval",
        "  130  ",
    ] {
        assert!(help.contains(said), "{said}");
    }
}

/// A command that runs as a job.
fn background(command: &str) -> String {
    json!({ "command": command, "description": "test", "run_in_background": true }).to_string()
}

#[test]
fn a_job_that_ends_with_the_program_is_told_of_and_what_to_do() {
    let fixture = Fixture::new();
    let ran = in_folder(&fixture, &["bash", &background("exec sleep 300")]);
    let said =
        "dsh: job bash-1 still runs, and is ended now with dsh; --wait waits for it and shows what it says\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), said));
    fixture.assert_tidy();
}

#[test]
fn a_job_that_is_waited_for_is_told_as_it_speaks_and_how_it_ends() {
    let fixture = Fixture::new();
    let command = "echo one; printf tw; while ! [ -e go ]; do sleep 0.02; done; echo o; exit 3";
    let mut dsh = fixture.command();
    dsh.args(["tools", "call", "bash", &background(command), "--wait", "--json", "--workspace"]);
    let mut child = dsh.arg(fixture.path("tmp")).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut job = || {
        lines.find_map(|line| {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            (line["type"] == "job").then_some(line)
        })
    };
    let line = |status: &str, detail: Value, said: &str| {
        Some(json!({ "type": "job", "jobId": "bash-1", "status": status, "detail": detail, "said": said }))
    };
    assert_eq!(job(), line("running", Value::Null, ""));
    assert_eq!(job(), line("running", Value::Null, "one\n"));
    fs::write(fixture.path("tmp").join("go"), "").unwrap();
    assert_eq!(job(), line("completed", json!("exit code: 3"), "two\n"));
    assert_eq!(job(), None);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));

    let ran = in_folder(&fixture, &["bash", &background("echo hi; kill -9 $$"), "--wait"]);
    let (_, told) = ran.stdout.split_once("\nwhat job bash-1 says\n").unwrap();
    assert_eq!((ran.code, told), (Some(1), "hi\n\njob bash-1: killed (signal: SIGKILL)\n"));
}

#[test]
fn an_interruption_ends_a_job_that_is_waited_for() {
    let fixture = Fixture::new();
    let mut dsh = fixture.command();
    let command = "echo $$ > pid; touch begun; exec sleep 300";
    dsh.args(["tools", "call", "bash", &background(command), "--wait", "--workspace"]);
    let child = dsh.arg(fixture.path("tmp")).spawn().unwrap();
    while !fixture.path("tmp").join("begun").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("job bash-1 is not waited for any more"), "{}", ran.stderr);
    let pid = fs::read_to_string(fixture.path("tmp").join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn the_file_that_a_result_names_is_there_afterwards() {
    let fixture = Fixture::new();
    let ran = in_folder(&fixture, &["bash", &bash("seq 1 200000")]);
    let (_, named) = ran.stdout.split_once("full output: ").unwrap();
    let file = Path::new(named.split(']').next().unwrap());
    let lines = fs::read_to_string(file).unwrap().lines().count();
    assert_eq!((ran.code, lines), (Some(0), 200_000));
    let kept = file.parent().unwrap().parent().unwrap().display().to_string();
    assert_eq!(
        ran.stderr,
        format!("dsh: the files with the full output are kept: rm -r {kept} when you have read them\n")
    );
}

#[test]
fn where_no_output_is_long_no_folder_is_left() {
    let fixture = Fixture::new();
    let ran = in_folder(&fixture, &["bash", &bash("echo hi")]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    fixture.assert_tidy();
}
