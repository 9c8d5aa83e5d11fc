//! Listing the plugins.

use serde_json::Value;

use crate::fixture::Fixture;

fn listed() -> Vec<Value> {
    let ran = Fixture::new().run(&["plugins", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn every_plugin_that_is_compiled_in_is_listed() {
    let plugins = listed();
    let names: Vec<&str> = plugins.iter().map(|plugin| plugin["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "agent",
            "agent-default-model",
            "agent-loop",
            "agent-loop-invariants",
            "agent-tool-presentation",
            "approval",
            "approval-channel",
            "approval-invariants",
            "approval-terminal",
            "bash-local",
            "checkpoint-policy",
            "deny-tools",
            "enrichment-policy",
            "hooks-claude-code",
            "hooks-codex",
            "hooks-invariants",
            "jobs-invariants",
            "jobs-local",
            "llm",
            "llm-deepseek",
            "llm-invariants",
            "llm-replay",
            "llm-retry",
            "metrics-policy",
            "repeat-tool-reminder",
            "retry-policy",
            "role-policy",
            "session",
            "session-invariants",
            "session-persistence-jsonl",
            "session-persistence-sqlite",
            "session-projection",
            "session-title",
            "shell-env",
            "step-limit-policy",
            "subprocess-local",
            "system-prompt",
            "system-prompt-invariants",
            "timeout-policy",
            "token-meter",
            "tool-bash",
            "tool-fs",
            "tool-jobs",
            "tools",
            "tools-invariants"
        ]
    );
}

#[test]
fn a_plugin_tells_what_it_needs_provides_and_takes() {
    for plugin in listed() {
        // One without a configuration takes nothing.
        let takes = plugin["schema"]["type"].as_str().unwrap();
        assert!(matches!(takes, "object" | "null"), "{plugin}");
        let (needs, provides) = (&plugin["needs"], &plugin["provides"]);
        let (needs_told, provides_told) = (needs.to_string(), provides.to_string());
        let told = || (&*needs_told, &*provides_told);
        match plugin["name"].as_str().unwrap() {
            "agent-default-model" => assert_eq!(told(), ("[]", r#"["agentDefaultModel"]"#)),
            "agent" => assert_eq!(told(), ("[]", r#"["agents"]"#)),
            "agent-loop" => {
                let needed: Vec<&str> =
                    needs.as_array().unwrap().iter().map(|need| need["name"].as_str().unwrap()).collect();
                assert_eq!(needed, ["agents", "sessions", "llm", "systemPrompt", "tools"]);
                assert_eq!(provides_told, r#"["agentLoop"]"#);
            }
            "session" => assert_eq!(told(), ("[]", r#"["sessions"]"#)),
            "approval" => assert_eq!(told(), ("[]", r#"["approval"]"#)),
            "approval-channel" => assert_eq!(told(), ("[]", r#"["approvalChannel"]"#)),
            "system-prompt" => assert_eq!(told(), ("[]", r#"["systemPrompt"]"#)),
            "tools" => assert_eq!(told(), ("[]", r#"["tools"]"#)),
            "subprocess-local" => assert_eq!(told(), ("[]", r#"["subprocess"]"#)),
            "shell-env" => assert_eq!(told(), ("[]", r#"["shellEnv"]"#)),
            "jobs-local" => assert_eq!(told(), ("[]", r#"["jobs"]"#)),
            "bash-local" => {
                let needs = r#"[{"name":"subprocess","optional":false}]"#;
                assert_eq!(told(), (needs, r#"["shell"]"#));
            }
            "llm" => assert_eq!(told(), ("[]", r#"["llm"]"#)),
            "token-meter" => {
                let needs = r#"[{"name":"sessionProjection","optional":true}]"#;
                assert_eq!(told(), (needs, r#"["tokenMeter"]"#));
            }
            "approval-terminal"
            | "agent-loop-invariants"
            | "step-limit-policy"
            | "enrichment-policy"
            | "llm-invariants"
            | "llm-retry"
            | "system-prompt-invariants"
            | "tools-invariants" => {
                assert_eq!(told(), ("[]", "[]"));
            }
            name => {
                let sessions = name.contains("session")
                    || matches!(name, "checkpoint-policy" | "approval-invariants" | "hooks-invariants");
                let needed = match name {
                    "jobs-invariants" => "jobs",
                    "llm-deepseek" | "llm-replay" => "llm",
                    "bash-local" => "subprocess",
                    "hooks-claude-code" | "hooks-codex" => "shell",
                    _ if sessions => "sessions",
                    _ => "tools",
                };
                assert_eq!(
                    (&needs[0]["name"], &needs[0]["optional"]),
                    (&needed.into(), &false.into()),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn the_table_has_a_row_for_each_plugin() {
    let ran = Fixture::new().run(&["plugins"]);
    let row = ran.stdout.lines().find(|line| line.starts_with("tool-bash ")).unwrap();
    let columns: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(columns[..6], ["tool-bash", "tools", "shell", "shellEnv?", "jobs?", "-"]);
    assert!(columns.contains(&"workspace?") && columns.contains(&"enableRunInBackground?"), "{row}");
}

#[test]
fn the_schema_of_one_plugin_can_be_asked_for() {
    let ran = Fixture::new().run(&["plugins", "--schema", "tool-fs"]);
    let schema: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["workspace"]));
    let ran = Fixture::new().run(&["plugins", "--schema", "nothing"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("tool-fs"), "{}", ran.stderr);
}

#[test]
fn the_examples_of_the_help_run() {
    let fixture = Fixture::new();
    let help = fixture.run(&["plugins", "--help"]).stdout;
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let mut tried = Vec::new();
    for line in examples.lines().take_while(|line| !line.is_empty()) {
        let (command, _what) = line.trim().split_once("  ").unwrap();
        let arguments: Vec<&str> = command.split(' ').skip(1).collect();
        let ran = fixture.run(&arguments);
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
        tried.push(arguments.concat());
    }
    assert_eq!(tried, ["plugins", "plugins--json", "plugins--schematool-bash"]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_list_follows_the_width_of_the_terminal() {
    use unicode_width::UnicodeWidthStr as _;

    use crate::terminal::Terminal;
    for columns in [30, 59, 90, 120] {
        let terminal = Terminal { columns, ..Terminal::default() };
        let (code, shown) = terminal.run(&Fixture::new(), &["plugins"]);
        assert_eq!(code, Some(0), "{shown}");
        let plain = shown.replace("\x1b[1m", "").replace("\x1b[0m", "");
        for line in plain.lines() {
            assert!(line.width() <= usize::from(columns), "{columns}: {line}");
        }
        assert_eq!(plain.contains("CONFIG"), columns >= 120, "{plain}");
        assert!(plain.contains("tool-bash"), "{plain}");
    }
}
