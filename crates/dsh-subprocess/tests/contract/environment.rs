//! What a child gets of the host's variables, and what the caller makes of that.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use dsh_subprocess::Environment;

fn is_passed_on(name: &OsStr) -> bool {
    !Environment::default().resolve([(name.to_owned(), OsString::new())]).is_empty()
}

fn resolved(environment: &Environment, inherited: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    environment.resolve(inherited.iter().map(|(name, value)| ((*name).into(), (*value).into())))
}

fn variables(expected: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

// spec: fs-shell-sandbox/F90
#[test]
fn what_may_be_a_secret_or_is_meant_for_the_host_is_not_passed_on() {
    for name in [
        "DEEPSEEK_API_KEY",
        "my_password",
        "AWS_SECRET_ID",
        "GithubToken",
        "KEYBOARD",
        "key",
        "DSH_HOME",
        "dsh_home",
        "DSH_",
    ] {
        assert!(!is_passed_on(name.as_ref()), "{name}");
    }
    for name in ["PATH", "HOME", "LANG", "MY_DSH_HOME", "DSH", "PASS", ""] {
        assert!(is_passed_on(name.as_ref()), "{name}");
    }
    assert!(!is_passed_on(OsStr::from_bytes(b"\xff_SECRET")) && is_passed_on(OsStr::from_bytes(b"\xff")));
}

// spec: fs-shell-sandbox/F90
#[test]
fn what_the_caller_says_wins() {
    let inherited = [("HOME", "/home/x"), ("LANG", "C"), ("API_KEY", "host"), ("DSH_SHELL", "host")];
    let mut environment = Environment::default();
    assert_eq!(resolved(&environment, &inherited), variables(&[("HOME", "/home/x"), ("LANG", "C")]));
    environment.set("LANG", "de");
    environment.set("API_KEY", "given");
    environment.set("DSH_SHELL", "1");
    environment.remove("HOME");
    environment.remove("ABSENT");
    let expected = variables(&[("API_KEY", "given"), ("DSH_SHELL", "1"), ("LANG", "de")]);
    assert_eq!(resolved(&environment, &inherited), expected);
}

#[test]
fn what_is_said_last_counts() {
    let mut environment = Environment::default();
    environment.set("A", "1");
    environment.remove("A");
    environment.remove("B");
    environment.extend([("B", "1"), ("B", "2")]);
    assert_eq!(resolved(&environment, &[("A", "0"), ("B", "0")]), variables(&[("B", "2")]));
}
