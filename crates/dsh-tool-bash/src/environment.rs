//! The environment that commands get.

use std::ffi::{OsStr, OsString};

/// Keeps programs from colouring, paging and asking.
pub(crate) const FIXED: [(&str, &str); 4] =
    [("NO_COLOR", "1"), ("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];

/// Our own environment without what may be a secret and without what is meant for us.
pub(crate) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_passed_on(name))
}

fn is_passed_on(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    !name.starts_with("DSH_")
        && !["KEY", "PASSWORD", "SECRET", "TOKEN"].iter().any(|secret| name.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::is_passed_on;

    #[test]
    fn what_may_be_a_secret_is_not_passed_on() {
        for name in ["DEEPSEEK_API_KEY", "my_password", "AWS_SECRET_ID", "GithubToken", "DSH_HOME"] {
            assert!(!is_passed_on(name.as_ref()), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "MY_DSH_HOME"] {
            assert!(is_passed_on(name.as_ref()), "{name}");
        }
    }
}
