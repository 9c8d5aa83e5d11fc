//! Where the paths that an agent names lie.

use std::path::Path;

use dsh_tools::{RelativeWorkspace, Workspace};

fn located(workspace: &Workspace, path: &str) -> Option<(String, String)> {
    let found = workspace.locate(path).ok()?;
    Some((found.real.display().to_string(), found.shown.display().to_string()))
}

fn pair(real: &str, shown: &str) -> Option<(String, String)> {
    Some((real.to_owned(), shown.to_owned()))
}

#[test]
fn a_path_is_relative_to_the_workspace_or_absolute_under_either_name() {
    let workspace = Workspace::new("/tmp/copy", Some(Path::new("/home/user/project"))).unwrap();
    for path in
        ["src/a.rs", "./src//a.rs", "src/b/../a.rs", "/home/user/project/src/a.rs", "/tmp/copy/src/a.rs"]
    {
        assert_eq!(
            located(&workspace, path),
            pair("/tmp/copy/src/a.rs", "/home/user/project/src/a.rs"),
            "{path}"
        );
    }
    assert_eq!(located(&workspace, "."), pair("/tmp/copy", "/home/user/project"));
}

#[test]
fn a_path_that_leads_out_is_refused() {
    let workspace = Workspace::new("/tmp/copy", Some(Path::new("/home/user/project"))).unwrap();
    for path in [
        "..",
        "a/../../b",
        "/etc/passwd",
        "/home/user/project/../other",
        "/home/user/project2",
        "/tmp",
        "/tmp/copy/..",
    ] {
        assert_eq!(located(&workspace, path), None, "{path}");
    }
    let error = workspace.locate("../x").unwrap_err().to_string();
    assert_eq!(error, "\"../x\" is outside the workspace \"/home/user/project\"");
}

#[test]
fn without_another_name_a_workspace_is_known_as_it_is() {
    let workspace = Workspace::new("/tmp/copy", None).unwrap();
    assert_eq!(located(&workspace, "a"), pair("/tmp/copy/a", "/tmp/copy/a"));
}

#[test]
fn a_folder_that_could_mean_two_is_refused() {
    for path in ["relative", "./relative", ""] {
        let refused = Workspace::new(path, Some(Path::new("/home/user/project"))).unwrap_err();
        assert_eq!(refused, RelativeWorkspace { workspace: path.into() });
        assert_eq!(refused.to_string(), format!("`workspace` must be an absolute path, not `{path}`"));
    }
}
