//! Refusing calls, and taking the refusal back half way.

use std::fs;

use crate::fixture::{Fixture, Log, of_type};

/// A log whose calls each leave a file that tells that their body ran.
fn marked(calls: usize) -> Fixture {
    let fixture = Fixture::new();
    let log = (1..=calls).fold(Log::new(), |log, call| {
        log.bash(&format!("touch {}", fixture.path(&format!("ran-{call}")).display())).result("(no output)")
    });
    fs::write(fixture.log(), log.text()).unwrap();
    fixture
}

fn ran(fixture: &Fixture, calls: usize) -> Vec<bool> {
    (1..=calls).map(|call| fixture.path(&format!("ran-{call}")).exists()).collect()
}

#[test]
fn a_denied_call_leaves_no_trace() {
    let fixture = marked(2);
    let lines = fixture.replay_json(&["--deny", "bash"]);
    assert_eq!(ran(&fixture, 2), [false, false]);
    assert!(of_type(&lines, "call").iter().all(|call| call["verdict"] == "denied"));
    assert_eq!((&lines[3]["denied"], &lines[3]["same"]), (&2.into(), &0.into()));
    fixture.replay_json(&[]);
    assert_eq!(ran(&fixture, 2), [true, true], "the same log runs them without the guard");
}

#[test]
fn only_the_named_tools_are_denied() {
    let fixture = marked(1);
    let ran_text = fixture.replay(&["--yes", "--deny", "read", "--deny", "read"]);
    assert!(ran_text.stdout.contains("denied    read, read\n"), "{}", ran_text.stdout);
    assert_eq!(ran(&fixture, 1), [true]);
}

#[test]
fn a_name_that_no_tool_has_is_refused() {
    for name in ["bahs", "Bash", "", " bash", "grep\x1b[2J"] {
        let fixture = marked(1);
        let refused = fixture.replay(&["--yes", "--deny", "bash", "--deny", name]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{name:?}");
        let shown = name.replace('\x1b', "\\u{1b}");
        assert!(refused.stderr.contains(&format!("no tool is called `{shown}`")), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("there are: bash, job_kill, job_list, job_output, read\n"),
            "{}",
            refused.stderr
        );
        assert_eq!(ran(&fixture, 1), [false]);
        fixture.assert_tidy();
    }
}

#[test]
fn a_tool_that_only_the_log_knows_can_be_denied() {
    let fixture = Fixture::with(&Log::new().call("grep", "{}"));
    assert_eq!(fixture.replay_json(&["--deny", "grep"])[1]["verdict"], "denied");
}

#[test]
fn a_guard_that_is_never_unloaded_is_told() {
    let text = marked(2).replay(&["--yes", "--deny", "bash", "--unload-after", "9"]);
    let never = "guard never unloaded: that was to be after 9 calls, and 2 calls were made";
    assert!(text.stdout.contains(never), "{}", text.stdout);
    let text = marked(2).replay(&["--yes", "--deny", "bash", "--unload-after", "2"]);
    assert!(!text.stdout.contains("never"), "{}", text.stdout);
}

#[test]
fn the_help_does_not_promise_to_refuse_every_call() {
    let help = Fixture::new().run(&["replay", "--help"]).stdout;
    assert!(help.contains("refuse bash during the first three calls only"), "{help}");
}

#[test]
fn unloading_the_guard_half_way_rolls_its_registrations_back() {
    let fixture = marked(3);
    let text = fixture.replay(&["--yes", "--deny", "bash", "--unload-after", "2"]);
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    let unloaded = "guard unloaded after 2 calls, registrations rolled back: 1 guard, 0 listeners";
    assert!(text.stdout.contains(unloaded), "{}", text.stdout);
    assert!(text.stdout.contains("nothing is left"), "{}", text.stdout);
    assert!(text.stdout.contains("same result as logged: 1, different: 0, denied: 2"), "{}", text.stdout);
    assert_eq!(ran(&fixture, 3), [false, false, true]);
}

#[test]
fn the_json_form_tells_when_the_guard_went() {
    for (after, place, verdicts) in [
        ("0", 1, ["same", "same", "same"]),
        ("1", 2, ["denied", "same", "same"]),
        ("3", 4, ["denied", "denied", "denied"]),
    ] {
        let lines = marked(3).replay_json(&["--deny", "bash", "--unload-after", after]);
        assert_eq!(lines[place]["type"], "unloaded", "{lines:?}");
        assert_eq!((&lines[place]["guards"], &lines[place]["listeners"]), (&1.into(), &0.into()));
        let calls = of_type(&lines, "call");
        assert_eq!(calls.iter().map(|call| call["verdict"].as_str().unwrap()).collect::<Vec<_>>(), verdicts);
    }
    let lines = marked(1).replay_json(&["--deny", "bash", "--unload-after", "9"]);
    assert_eq!(of_type(&lines, "unloaded"), Vec::<&serde_json::Value>::new());
}
