//! Which tools count.

use dsh_repeat_policy::Config;

use crate::fixture::Fixture;

/// Which of the tools are reminded of at the second call.
async fn tracked(include: &[&str], exclude: &[&str]) -> Vec<&'static str> {
    let owned = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect();
    let config =
        Config { thresholds: vec![2], include: owned(include), exclude: owned(exclude), ..Config::default() };
    let fixture = Fixture::new(config).await;
    let mut tracked = Vec::new();
    for tool in ["look", "grep", "mcp_list"] {
        assert!(!fixture.reminds(tool, "{}").await);
        if fixture.reminds(tool, "{}").await {
            tracked.push(tool);
        }
    }
    tracked
}

// spec: timeout-jobs-hooks/J12
#[tokio::test]
async fn a_tool_counts_if_it_is_included_and_not_excluded() {
    assert_eq!(tracked(&[], &[]).await, ["look", "grep", "mcp_list"]);
    assert_eq!(tracked(&["grep", "look"], &[]).await, ["look", "grep"]);
    assert_eq!(tracked(&["mcp_*"], &[]).await, ["mcp_list"]);
    assert_eq!(tracked(&[], &["mcp_*", "nobody"]).await, ["look", "grep"]);
    assert_eq!(tracked(&["*o*", "grep"], &["look"]).await, ["grep"]);
    assert_eq!(tracked(&["nobody"], &[]).await, [""; 0]);
}

// spec: timeout-jobs-hooks/J12
#[tokio::test]
async fn a_pattern_is_of_the_whole_name_and_all_but_stars_is_literal() {
    assert_eq!(tracked(&["loo", "ook", "LOOK"], &[]).await, [""; 0]);
    assert_eq!(tracked(&["l.*k", "g?ep", "[lg]*", "mcp.list"], &[]).await, [""; 0]);
    assert_eq!(tracked(&["l*k", "*rep", "m**_*t"], &[]).await, ["look", "grep", "mcp_list"]);
    assert_eq!(tracked(&["*"], &[""]).await, ["look", "grep", "mcp_list"]);
}

// spec: timeout-jobs-hooks/J12
#[tokio::test]
async fn a_call_that_does_not_count_leaves_a_count_as_it_is() {
    let config = Config { thresholds: vec![3], exclude: vec!["mcp_*".to_owned()], ..Config::default() };
    let fixture = Fixture::new(config).await;
    let mut reminds = Vec::new();
    for tool in ["look", "mcp_list", "look", "mcp_list", "mcp_list", "look"] {
        reminds.push(fixture.reminds(tool, "{}").await);
    }
    assert_eq!(reminds, [false, false, false, false, false, true]);
}
