//! What prompts are told of the tools in each mode.

use std::error::Error;

use dsh_prompt::{AssembleError, Contribution, PromptSection, SYSTEM_PROMPT};
use dsh_tools::{Mode, PresentationError, RUN_CODE, Restriction, TOOLS};
use serde_json::json;

use crate::fixture::Fixture;

const BOTH_SECTIONS: [&str; 2] = ["tools:code-only", "tools:sdk"];

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

// spec: tools/T26, T29, code-mode/C84, C85
#[tokio::test]
async fn a_prompt_offers_all_tools_or_run_code_or_both_by_the_mode_of_its_scope() {
    for configured in [Mode::Native, Mode::Code, Mode::Both] {
        let fixture = Fixture::new(configured).await;
        fixture.speaks("typescript");
        fixture.offer(&fixture.app, "b");
        fixture.offer(&fixture.app, "z");
        let agent = fixture.app.scope().unwrap();
        for mode in [Mode::Native, Mode::Code, Mode::Both] {
            let (tools, sections) = match mode {
                Mode::Native => (strings(&["b", "z"]), strings(&[])),
                Mode::Code => (strings(&[RUN_CODE]), strings(&BOTH_SECTIONS)),
                Mode::Both => (strings(&["b", RUN_CODE, "z"]), strings(&["tools:sdk"])),
            };
            if mode == configured {
                assert_eq!(fixture.offered(None).await, (tools.clone(), sections.clone()));
            }
            let presented = fixture.tools().present(agent.context(), mode).unwrap();
            assert_eq!(fixture.offered(Some(&agent)).await, (tools, sections), "{mode} in {configured}");
            presented.dispose().await;
        }
    }
}

// spec: tools/T29, code-mode/C101
#[tokio::test]
async fn empty_sections_are_not_in_the_rendered_prompt_and_the_others_frame_the_guidance() {
    let fixture = Fixture::new(Mode::Native).await;
    fixture.speaks("typescript");
    let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
    for (name, order) in [("first", 98), ("guidance", 100), ("more", 106), ("last", 151)] {
        prompt.get().unwrap().section(&fixture.app, PromptSection::new(name, order, name)).unwrap();
    }
    let native = fixture.assemble(None).await.unwrap();
    assert_eq!(native.render_prompt().unwrap(), "first\n\nguidance\n\nmore\n\nlast");

    let agent = fixture.app.scope().unwrap();
    fixture.tools().present(agent.context(), Mode::Code).unwrap();
    let code = fixture.assemble(Some(&agent)).await.unwrap();
    let names: Vec<&str> = code.sections.iter().map(|section| section.name.as_str()).collect();
    let [code_only, sdk] = BOTH_SECTIONS;
    assert_eq!(names, ["deployment:persona", "first", code_only, "guidance", "more", sdk, "last"]);
    assert!(
        code.render_prompt().unwrap().contains("\n\nguidance\n\nmore\n\n## Writing code for `run_code`\n\n")
    );
}

// spec: tools/T29
#[tokio::test]
async fn a_scope_can_have_a_section_of_its_own_in_the_place_of_the_declarations() {
    let fixture = Fixture::new(Mode::Code).await;
    fixture.speaks("typescript");
    let agent = fixture.app.scope().unwrap();
    let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
    let own = PromptSection::new("tools:sdk", 150, "My own words.");
    prompt.get().unwrap().section(agent.context(), own).unwrap();
    let assembly = fixture.assemble(Some(&agent)).await.unwrap();
    assert_eq!(assembly.sections.last().unwrap().text, "My own words.");
    assert!(fixture.section("tools:sdk").await.starts_with("## "));
}

// spec: tools/T30
#[tokio::test]
async fn a_model_in_code_mode_is_told_that_only_run_code_can_be_called_directly() {
    let fixture = Fixture::new(Mode::Code).await;
    fixture.speaks("python");
    let text = fixture.section("tools:code-only").await;
    for told in
        ["`run_code` is the only tool that you can call directly", "any other tool fails", "inside of a"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
}

// spec: tools/T31, T26
#[tokio::test]
async fn a_mode_that_nothing_serves_refuses_the_prompt_and_says_what_to_do() {
    let fixture = Fixture::new(Mode::Native).await;
    let agent = fixture.app.scope().unwrap();
    for mode in [Mode::Code, Mode::Both] {
        let presented = fixture.tools().present(agent.context(), mode).unwrap();
        let refused = fixture.assemble(Some(&agent)).await.unwrap_err();
        assert!(matches!(&refused, AssembleError::Provider { what: Contribution::Tools, .. }), "{refused}");
        let why = refused.source().unwrap().downcast_ref::<PresentationError>().unwrap().clone();
        assert_eq!(why, PresentationError::NoRuntime { mode });
        let told = why.to_string();
        assert!(told.starts_with("dsh-tools: ") && told.contains(&format!("`{mode}`")), "{told}");
        assert!(told.contains("`codeRuntime`") && told.contains("`native`"), "{told}");
        presented.dispose().await;
    }
    fixture.assemble(Some(&agent)).await.unwrap();

    fixture.tools().present(agent.context(), Mode::Code).unwrap();
    for language in ["toString", "ruby", "TypeScript", ""] {
        let runtime = fixture.speaks(language);
        let refused = fixture.assemble(Some(&agent)).await.unwrap_err();
        let why = refused.source().unwrap().downcast_ref::<PresentationError>().unwrap().clone();
        assert_eq!(why, PresentationError::Language { language: language.to_owned() });
        let told = why.to_string();
        assert!(told.starts_with("dsh-tools: ") && told.contains(&format!("{language:?}")), "{told}");
        assert!(told.contains("`typescript`") && told.contains("`python`"), "{told}");
        runtime.dispose().await;
    }
}

// spec: tools/T27
#[tokio::test]
async fn an_order_may_name_what_its_mode_knows_and_nothing_else() {
    let order = |names: &[&str]| json!({ "toolOrder": names });
    let cases = [
        (Mode::Native, order(&["b", "<unlisted-tools>"]), true),
        (Mode::Native, order(&[RUN_CODE, "<unlisted-tools>"]), false),
        (Mode::Code, order(&["b", "<unlisted-tools>"]), false),
        (Mode::Code, order(&[RUN_CODE, "<unlisted-tools>"]), true),
        (Mode::Both, order(&[RUN_CODE, "<unlisted-tools>", "b"]), true),
        (Mode::Both, order(&["c", "<unlisted-tools>"]), false),
    ];
    for (mode, order, legal) in cases {
        let fixture = Fixture::with(mode, order.clone()).await;
        fixture.speaks("typescript");
        fixture.offer(&fixture.app, "a");
        fixture.offer(&fixture.app, "b");
        let assembled = fixture.assemble(None).await;
        assert_eq!(assembled.is_ok(), legal, "{mode} {order}");
        if let Err(refused) = assembled {
            assert!(matches!(refused, AssembleError::UnknownTools { .. }), "{refused}");
        }
    }
}

// spec: tools/T26, code-mode/C87
#[tokio::test]
async fn a_restricted_tool_is_known_to_orders_and_neither_offered_nor_declared() {
    let fixture = Fixture::with(Mode::Native, json!({ "toolOrder": ["b", "<unlisted-tools>"] })).await;
    fixture.speaks("typescript");
    fixture.offer(&fixture.app, "a");
    fixture.offer(&fixture.app, "b");
    let agent = fixture.app.scope().unwrap();
    fixture.tools().restrict(agent.context(), Restriction::deny(["b"])).unwrap();
    assert_eq!(fixture.offered(Some(&agent)).await.0, ["a"]);
    fixture.tools().present(agent.context(), Mode::Both).unwrap();
    assert_eq!(fixture.offered(Some(&agent)).await.0, ["a", RUN_CODE]);
    let assembly = fixture.assemble(Some(&agent)).await.unwrap();
    let sdk = &assembly.sections.last().unwrap().text;
    assert!(sdk.contains("\n  a: ") && !sdk.contains("\n  b: ") && !sdk.contains("\n  run_code: "), "{sdk}");
}

// spec: tools/T33, code-mode/C48
#[tokio::test]
async fn the_same_tools_give_the_same_text_in_whatever_order_they_came() {
    for language in ["typescript", "python"] {
        let (one, other) = (Fixture::new(Mode::Both).await, Fixture::new(Mode::Both).await);
        for fixture in [&one, &other] {
            fixture.speaks(language);
        }
        for name in ["b", "\u{ff5e}", "a", "\u{10000}"] {
            one.offer(&one.app, name);
        }
        for name in ["\u{10000}", "a", "\u{ff5e}", "b"] {
            other.offer(&other.app, name);
        }
        let text = one.section("tools:sdk").await;
        assert_eq!(text, other.section("tools:sdk").await);
        let places: Vec<usize> =
            ["a", "b", "\u{10000}", "\u{ff5e}"].iter().map(|name| place(&text, name)).collect();
        assert!(places.is_sorted(), "{places:?}\n{text}");
        let more = one.offer(&one.app, "c");
        assert_ne!(one.section("tools:sdk").await, text);
        more.dispose().await;
        assert_eq!(one.section("tools:sdk").await, text);
    }
}

/// Where a tool is declared, by itself or as a method.
fn place(text: &str, name: &str) -> usize {
    let declared = [
        format!("  {name}: "),
        format!("  \"{name}\": "),
        format!("def {name}("),
        format!("tools[\"{name}\"]"),
    ];
    declared.iter().find_map(|declared| text.find(declared)).unwrap()
}

// spec: code-mode/C47
#[tokio::test]
async fn the_instructions_say_how_programs_are_written() {
    for (language, fence) in [("typescript", "```ts\n"), ("python", "```python\n")] {
        let fixture = Fixture::new(Mode::Code).await;
        fixture.speaks(language);
        let text = fixture.section("tools:sdk").await;
        let (instructions, block) = text.split_once(fence).unwrap();
        assert!(instructions.starts_with("## Writing code for `run_code`\n\n"), "{instructions}");
        assert!(instructions.ends_with(":\n\n") && block.ends_with("\n```"), "{text}");
        for told in [
            "`code`",
            "`description`",
            "`await tools.name(args)`",
            "`await tools[\"odd-name\"](args)`",
            "JSON",
            "loses nothing",
            "`ToolCallError`",
            "`toolName`",
            "overlap",
            "run alone, in the order",
            "`return`",
            "image",
        ] {
            assert!(instructions.contains(told), "{told}: {instructions}");
        }
        let python = "only `tools` and `ToolCallError` exist at run time";
        assert_eq!(instructions.contains(python), language == "python");
    }
}

#[tokio::test]
async fn prompts_are_told_of_tools_only_while_there_is_a_system_prompt_and_the_tools() {
    let app = cordis::testing::TestApp::new();
    let tools = app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap();
    tools.ready().await.unwrap();
    assert!(app.get(TOOLS).is_some());
    let prompt = app.plugin(dsh_prompt::plugin(), dsh_prompt::Config::default()).unwrap();
    prompt.ready().await.unwrap();
    app.quiet().await;
    let sections = async || {
        let service = app.get(SYSTEM_PROMPT).unwrap();
        let nobody = dsh_prompt::AssembleContext::new();
        let assembly = service.get().unwrap().assemble(&app, &nobody).await.unwrap();
        assembly.sections.iter().filter(|section| section.name.starts_with("tools:")).count()
    };
    assert_eq!(sections().await, 2);
    assert!(tools.dispose().await.is_clean());
    assert_eq!(sections().await, 0);
    app.assert_no_errors();
}

// spec: code-mode/C48
#[tokio::test]
async fn a_description_with_braces_of_a_variable_does_not_break_the_prompt() {
    for language in ["typescript", "python"] {
        let fixture = Fixture::new(Mode::Code).await;
        fixture.speaks(language);
        let properties =
            json!({ "{{x}}": { "type": "string", "const": "{{{y}}}", "description": "{{z}} }}" } });
        let parameters = json!({ "type": "object", "properties": properties });
        fixture.declare("t{{", "Writes {{name}} and {{{{.", parameters, json!({}));
        let assembly = fixture.assemble(None).await.unwrap();
        let rendered = assembly.render_prompt().unwrap();
        assert!(rendered.contains("Writes { {name}} and { { { {."), "{rendered}");
    }
}
