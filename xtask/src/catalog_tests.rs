use crate::fixture::Fixture;

use super::*;

const KEYS: &str = r#"
//! Keys.

use cordis::{Emit, Key, Waterfall};

/// Wraps a tool call with
/// [`Next`], as [the guide](crate::guide) says; a|b.
///
/// More.
pub const EXECUTE: Waterfall<ToolCall, Result<Outcome, Denied>> =
    Waterfall::new("tools/execute").scoped_by(|call| call.scope());

pub const RESULT: Emit<
    Arc<dyn Outcome + Send>,
> = Emit::new("tools/result");

/// The tools.
pub const TOOLS: Key<dyn ToolRuntime> = Key::new("tools");

/// Limits.
pub const LIMITS: cordis::Intercept<Limits> = cordis::Intercept::new("tools/limits");

pub const MAX: usize = 3;
const PRIVATE: Emit<()> = Emit::new("tools/private");

pub mod more {
    /// First word.
    pub const PICK: Bail<Query, Answer> = Bail::new("tools/pick");
}
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let host = "/// Started.\npub const STARTED: Emit<Started> = Emit::new(\"internal/started\");\n";
    fixture
        .package("crates/cordis-rs", "host", "[lib]\nname = \"cordis\"\n")
        .package("crates/dsh-tools", "definition", "")
        .write("crates/cordis-rs/src/lib.rs", "mod app;\npub mod keys;\n")
        .write("crates/cordis-rs/src/keys.rs", host)
        .write("crates/dsh-tools/src/lib.rs", "mod keys;\npub use keys::EXECUTE;\n")
        .write("crates/dsh-tools/src/keys.rs", KEYS);
    fixture
}

fn rows(page: &str) -> Vec<&str> {
    page.lines().filter(|line| line.starts_with("| `") || line.starts_with('#')).collect()
}

#[test]
fn pages_list_every_public_key_in_order() {
    let fixture = fixture();
    assert_eq!(write(&fixture.load()).unwrap(), "catalog: 6 keys of 2 crates written");
    let events = [
        "# Events",
        "## cordis-rs",
        "| `cordis::keys::STARTED` | `internal/started` | Emit | `Started` | – | – | Started. |",
        "## dsh-tools",
        "| `dsh_tools::EXECUTE` | `tools/execute` | Waterfall | `ToolCall` | `Result<Outcome, Denied>` | \
         by `\\|call\\| call.scope()` | Wraps a tool call with `Next`, as the guide says; a\\|b. |",
        "| `dsh_tools::RESULT` | `tools/result` | Emit | `Arc<dyn Outcome + Send>` | – | – | – |",
        "| `dsh_tools::more::PICK` | `tools/pick` | Bail | `Query` | `Answer` | – | First word. |",
    ];
    assert_eq!(rows(&fixture.read("docs/catalog/events.md")), events);
    let services = [
        "# Services",
        "## dsh-tools",
        "| `dsh_tools::TOOLS` | `tools` | `dyn ToolRuntime` | The tools. |",
        "## Intercepts",
        "### dsh-tools",
        "| `dsh_tools::LIMITS` | `tools/limits` | `Limits` | Limits. |",
    ];
    assert_eq!(rows(&fixture.read("docs/catalog/services.md")), services);
}

#[test]
fn a_stale_page_is_rejected_with_a_diff_and_the_command() {
    let fixture = fixture();
    write(&fixture.load()).unwrap();
    assert_eq!(check(&fixture.load()).unwrap(), "catalog: 6 keys of 2 crates up to date");
    fixture.write("crates/dsh-tools/src/keys.rs", &KEYS.replace("tools/pick", "tools/choose"));
    let error = check(&fixture.load()).unwrap_err().to_string();
    assert!(error.contains("docs/catalog/events.md is stale"), "{error}");
    assert!(error.contains("+| `dsh_tools::more::PICK` | `tools/choose`"), "{error}");
    assert!(!error.contains("services.md"), "{error}");
    assert!(error.ends_with("cargo xtask catalog"), "{error}");
}

#[test]
fn missing_pages_and_missing_keys_are_named() {
    let error = check(&fixture().load()).unwrap_err().to_string();
    assert!(error.contains("docs/catalog/services.md is missing"), "{error}");
    let error = check(&Fixture::new().load()).unwrap_err().to_string();
    assert!(error.contains("no crate has a src/keys.rs"), "{error}");
}

#[test]
fn a_key_whose_name_is_not_written_out_is_rejected() {
    let fixture = fixture();
    fixture.write("crates/dsh-tools/src/keys.rs", "\npub const A: Emit<u8> = Emit::new(NAME);\n");
    let error = format!("{:#}", write(&fixture.load()).unwrap_err());
    assert!(
        error.contains("in crates/dsh-tools/src/keys.rs: line 2: the key A: has no literal name"),
        "{error}"
    );
}
