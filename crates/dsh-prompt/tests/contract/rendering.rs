//! What the model reads of an assembly.

use dsh_llm::Section;
use dsh_prompt::{Contribution, PromptContext, PromptSection, join_contexts};

use crate::fixture::Fixture;

fn section(name: &str, text: &str) -> Section {
    Section { name: name.to_owned(), text: text.to_owned() }
}

// spec: system-prompt/S31
#[tokio::test]
async fn sections_are_joined_by_a_blank_line_and_empty_ones_left_out() {
    let fixture = Fixture::new().await;
    let prompt = fixture.prompt();
    assert_eq!(fixture.assemble().await.render_prompt().unwrap(), "");
    prompt.variable(&fixture.app, "empty", |_| Some(String::new())).unwrap();
    prompt.variable(&fixture.app, "v", |_| Some("value".to_owned())).unwrap();
    prompt.section(&fixture.app, PromptSection::new("gone", 1, "{{empty}}")).unwrap();
    assert_eq!(fixture.assemble().await.render_prompt().unwrap(), "");
    for (name, order, text) in [("a", 2, "a {{v}}"), ("b", 3, ""), ("c", 4, " \n"), ("d", 5, "d")] {
        prompt.section(&fixture.app, PromptSection::new(name, order, text)).unwrap();
    }
    assert_eq!(fixture.assemble().await.render_prompt().unwrap(), "a value\n\n \n\n\nd");
}

// spec: system-prompt/S32
#[tokio::test]
async fn contexts_are_rendered_by_name_and_joined_below_a_line_that_says_what_they_are() {
    let fixture = Fixture::new().await;
    let prompt = fixture.prompt();
    let assembly = fixture.assemble().await;
    assert_eq!(assembly.render_contexts().unwrap(), []);
    assert_eq!(assembly.render_context_snapshot().unwrap(), "");

    prompt.variable(&fixture.app, "empty", |_| Some(String::new())).unwrap();
    prompt.variable(&fixture.app, "v", |_| Some("value".to_owned())).unwrap();
    for (name, order, text) in [("b", 2, "b"), ("gone", 1, "{{empty}}"), ("a", 1, "a {{v}}")] {
        prompt.context(&fixture.app, PromptContext::new(name, order, text)).unwrap();
    }
    let assembly = fixture.assemble().await;
    let contexts = assembly.render_contexts().unwrap();
    assert_eq!(contexts, [section("a", "a value"), section("b", "b")]);
    let snapshot = assembly.render_context_snapshot().unwrap();
    assert_eq!(snapshot, join_contexts(&contexts));
    let (preamble, bodies) = snapshot.split_once("\n\n").unwrap();
    assert_eq!(bodies, "a value\n\nb");
    assert!(!preamble.is_empty() && !preamble.contains('\n'), "{preamble:?}");
    let alone = join_contexts(&[section("c", "c")]);
    assert_eq!(alone, format!("{preamble}\n\nc"));
    assert_eq!(join_contexts(&[]), "");
}

// spec: system-prompt/S38
#[tokio::test]
async fn one_assembly_gives_both_texts_and_contexts_never_are_in_the_system_prompt() {
    let fixture = Fixture::new().await;
    fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, "section")).unwrap();
    fixture.prompt().context(&fixture.app, PromptContext::new("c", 1, "context")).unwrap();
    let assembly = fixture.assemble().await;
    assert_eq!(assembly.render_prompt().unwrap(), "section");
    assert_eq!(assembly.render_contexts().unwrap(), [section("c", "context")]);
}

// spec: system-prompt/S33, S34
#[tokio::test]
async fn an_error_names_the_section_or_the_context_the_persona_too() {
    let persona = dsh_prompt::Config { persona: "{{nobody}}".to_owned(), ..Default::default() };
    let fixture = Fixture::with(persona).await;
    let assembly = fixture.assemble().await;
    let error = assembly.render_prompt().unwrap_err();
    assert_eq!(error.what, Contribution::Section("deployment:persona".to_owned()));
    assert_eq!(error.to_string(), r#"section "deployment:persona" cannot be rendered"#);
    fixture.prompt().context(&fixture.app, PromptContext::new("time", 1, "{{ now }}")).unwrap();
    let assembly = fixture.assemble().await;
    let error = assembly.render_contexts().unwrap_err();
    assert_eq!(error.what, Contribution::Context("time".to_owned()));
    assert_eq!(assembly.render_context_snapshot().unwrap_err(), error);
}
