//! What a process finds in its environment.

use dsh_subprocess::Environment;

use crate::fixture::{Fixture, bounded, code, stdout};

// spec: fs-shell-sandbox/F90
#[tokio::test]
async fn a_process_gets_what_the_host_passes_on_and_what_the_caller_says() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash("env -0");
    spec.env.set("DSH_HOME", "/home/dsh");
    spec.env.set("API_KEY", "given");
    spec.env.remove("HOME");
    let process = fixture.spawn(spec);
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    let text = stdout(&process).head;
    let mut names: Vec<&str> =
        text.split_terminator('\0').map(|variable| variable.split_once('=').unwrap().0).collect();
    // What bash adds.
    names.retain(|name| !["_", "PWD", "OLDPWD", "SHLVL"].contains(name));
    for (name, value) in [("DSH_HOME", "/home/dsh"), ("API_KEY", "given")] {
        assert!(text.split('\0').any(|variable| variable == format!("{name}={value}")), "{text}");
    }
    let host = Environment::default().resolve(std::env::vars_os());
    let mut expected: Vec<String> = host.into_keys().map(|name| name.into_string().unwrap()).collect();
    expected.retain(|name| !["_", "PWD", "OLDPWD", "SHLVL", "HOME"].contains(&name.as_str()));
    expected.extend(["DSH_HOME", "API_KEY", "DSH_PROCESS_GROUP"].map(String::from));
    expected.sort_unstable();
    names.sort_unstable();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn each_process_has_a_mark_of_its_own_whatever_the_caller_says() {
    let fixture = Fixture::new().await;
    let mut marks = Vec::new();
    for _ in 0..2 {
        let mut spec = fixture.bash("printf %s \"$DSH_PROCESS_GROUP\"");
        spec.env.set("DSH_PROCESS_GROUP", "mine");
        let process = fixture.spawn(spec);
        assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
        marks.push(stdout(&process).head);
    }
    assert!(marks.iter().all(|mark| mark.len() > 32), "{marks:?}");
    assert_ne!(marks[0], marks[1]);
}
