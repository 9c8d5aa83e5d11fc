//! Which tools there are, and who sees them.

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::fixture::Fixture;

fn ls(options: &[&str]) -> String {
    let ran = Fixture::new().run(&[&["tools", "ls"], options].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{options:?}");
    ran.stdout
}

/// The first column of the table.
fn names(table: &str) -> Vec<&str> {
    table
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split(' ').next().unwrap())
        .collect()
}

#[test]
fn every_tool_has_a_row_with_its_plugin_and_how_it_runs() {
    let table = ls(&[]);
    assert_eq!(names(&table), ["bash", "read", "job_output", "job_list", "job_kill"]);
    let row = |name: &str| {
        let row = table.lines().find(|line| line.starts_with(name)).unwrap();
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let (bash, read) = (row("bash"), row("read"));
    assert!(bash[1].starts_with("tool-bash") && read[1].starts_with("tool-fs"), "{table}");
    assert_eq!(
        (&bash[2..4], &read[2..4]),
        (&["exclusive", "-"].map(str::to_owned)[..], &["parallel, blocking", "-"].map(str::to_owned)[..])
    );
    assert_eq!(bash[4], "Runs a command with `bash -c` and gives what it prints.");
}

#[test]
fn an_agent_sees_what_it_is_not_kept_from() {
    for (options, seen, hidden) in [
        (&[][..], &["bash", "read", "job_output", "job_list", "job_kill"][..], "nothing"),
        (&["--deny", "bash"], &["read", "job_output", "job_list", "job_kill"], "bash"),
        (&["--allow", "bash"], &["bash"], "read, job_output, job_list, job_kill"),
        (
            &["--allow", "bash", "--allow", "read", "--deny", "read"],
            &["bash"],
            "read, job_output, job_list, job_kill",
        ),
        (&["--allow", "read", "--deny", "read"], &[], "bash, read, job_output, job_list, job_kill"),
    ] {
        let table = ls(&[&["--agent", "reader"], options].concat());
        assert_eq!(names(&table), seen, "{options:?}");
        let told = format!("as agent `reader` sees them; hidden from it: {hidden}");
        assert_eq!(table.lines().last(), Some(told.as_str()), "{options:?}");
    }
}

#[test]
fn a_restriction_names_tools_that_there_are_and_an_agent_has_a_readable_name() {
    let fixture = Fixture::new();
    for (options, says) in [
        (
            &["--agent", "reader", "--deny", "bsh"][..],
            "no tool is called `bsh`; there are: bash, read, job_output, job_list, job_kill",
        ),
        (&["--deny", "bsh"], "no tool is called `bsh`"),
        (&["--agent", "a\u{1b}[2Jb"], "--agent: `a\\u{1b}[2Jb` has characters that cannot be seen"),
        (&["--agent", "", "--deny", "bash"], "an agent has a name"),
    ] {
        let ran = fixture.run(&[&["tools", "ls"], options].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{options:?}");
        assert!(ran.stderr.contains(says), "{options:?}: {}", ran.stderr);
    }
}

#[test]
fn the_json_form_has_the_whole_of_what_the_model_is_sent() {
    let lines: Vec<Value> = ls(&["--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&Value> = lines.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["bash", "read", "job_output", "job_list", "job_kill"]);
    let read = &lines[1];
    assert_eq!(read["parameters"]["required"], json!(["file_path"]));
    assert_eq!(read["parameters"]["properties"]["offset"]["type"], "number");
    assert_eq!(read["output"]["type"], "string");
    assert_eq!(
        ["parallel", "blocking", "idempotent", "timeoutMs"].map(|field| &read[field]),
        [&json!(true), &json!(true), &json!(true), &Value::Null]
    );
    let one = ls(&["--json", "--agent", "reader", "--deny", "bash"]);
    assert_eq!(one.lines().count(), lines.len() - 1);
}

#[cfg(target_os = "linux")]
#[test]
fn the_table_follows_the_width_of_the_terminal_in_colour() {
    use crate::terminal::Terminal;
    for columns in [30, 59, 80, 120] {
        let (code, shown) =
            Terminal { columns, ..Terminal::default() }.run(&Fixture::new(), &["tools", "ls"]);
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains(if columns < 100 { "\x1b[1mbash" } else { "\x1b[1mNAME" }), "{shown}");
        let plain = shown.replace("\x1b[1m", "").replace("\x1b[0m", "");
        for line in plain.lines() {
            assert!(line.width() <= usize::from(columns), "{columns}: {line}");
        }
        assert_eq!(plain.contains("DESCRIPTION"), columns >= 100, "{plain}");
        let words: Vec<&str> = plain.split_whitespace().collect();
        let words = words.join(" ");
        assert!(words.contains("Runs a command with `bash -c` and gives what it prints."), "{plain}");
        if columns < 100 {
            assert!(
                words.contains("tool-jobs#15: exclusive, timeout 630s Reads what a background job said."),
                "{plain}"
            );
            let agent = Terminal { columns, ..Terminal::default() };
            let (_, shown) = agent.run(&Fixture::new(), &["tools", "ls", "--json"]);
            assert!(
                shown.contains("Each call has a new shell"),
                "all of it is in the form for programs: {shown}"
            );
        }
    }
}

#[test]
fn the_examples_of_the_help_run() {
    let fixture = Fixture::new();
    let help = fixture.run(&["tools", "ls", "--help"]).stdout;
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let mut tried = 0;
    for line in examples.lines().take_while(|line| !line.is_empty()) {
        let (command, _what) = line.trim().split_once("  ").unwrap();
        let arguments: Vec<&str> = command.split(' ').skip(1).collect();
        assert_eq!(fixture.run(&arguments).code, Some(0), "{command}");
        tried += 1;
    }
    assert_eq!(tried, 4);
}

#[test]
fn an_agent_that_tools_are_kept_from_needs_no_name() {
    let table = ls(&["--deny", "bash"]);
    assert_eq!(names(&table), ["read", "job_output", "job_list", "job_kill"]);
    assert_eq!(table.lines().last(), Some("as an agent sees them; hidden from it: bash"));
}

#[test]
fn what_the_examples_of_the_help_do_is_in_one_column() {
    for command in [&["tools"][..], &["tools", "ls"], &["tools", "call"]] {
        let help = Fixture::new().run(&[command, &["--help"]].concat()).stdout;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        let starts: Vec<usize> = examples
            .lines()
            .take_while(|line| !line.is_empty())
            .map(|line| line.rfind("  ").unwrap() + 2)
            .collect();
        assert!(starts.len() > 2 && starts.iter().all(|start| *start == starts[0]), "{examples}");
    }
}
