//! A section that is the whole system prompt.

use dsh_prompt::{
    ASSEMBLE, AssembleContext, AssembleError, Assembling, PromptAssembly, PromptContext, PromptSection,
    PromptTemplate,
};

use crate::fixture::{Assembled, Fixture, Log, Rest, pairs, tool, tools, variables};

async fn rewrite(_: &mut Assembling, _: Rest<'_>) -> Assembled {
    Ok(PromptAssembly {
        sections: vec![PromptTemplate::new("whole", "rewritten"), PromptTemplate::new("more", "added")],
        contexts: vec![PromptTemplate::new("c", "added")],
        tools: vec![tool("added")],
        variables: [("v".to_owned(), Some("added".to_owned()))].into(),
    })
}

// spec: system-prompt/S21
#[tokio::test]
async fn a_complete_section_is_put_back_as_it_was_and_the_rest_is_as_listeners_left_it() {
    let fixture = Fixture::new().await;
    let log = Log::default();
    fixture.prompt().section(&fixture.app, PromptSection::new("other", 1, log.text("other"))).unwrap();
    fixture.prompt().context(&fixture.app, PromptContext::new("c", 1, "text")).unwrap();
    let whole = PromptSection::new("whole", 1, "all of {{v}}").complete();
    let whole = fixture.prompt().section(&fixture.app, whole).unwrap();
    assert_eq!(pairs(&fixture.assemble().await.sections), [("whole", "all of {{v}}")]);
    assert_eq!(log.take(), ["other"], "listeners see the other sections");

    fixture.app.on(ASSEMBLE).run(rewrite).unwrap();
    let assembly = fixture.assemble().await;
    assert_eq!(pairs(&assembly.sections), [("whole", "all of {{v}}")]);
    assert_eq!(pairs(&assembly.contexts), [("c", "added")]);
    assert_eq!(tools(&assembly), ["added"]);
    assert_eq!(variables(&assembly), [("v", Some("added"))]);
    assert_eq!(assembly.render_prompt().unwrap(), "all of added");

    whole.dispose().await;
    assert_eq!(pairs(&fixture.assemble().await.sections), [("whole", "rewritten"), ("more", "added")]);
}

// spec: system-prompt/S21
#[tokio::test]
async fn several_complete_sections_are_refused_by_name_before_a_text_is_asked_for() {
    let fixture = Fixture::new().await;
    let log = Log::default();
    for (name, order) in [("b", 2), ("a", 1), ("c", 3)] {
        let section = PromptSection::new(name, order, log.text("asked")).complete();
        fixture.prompt().section(&fixture.app, section).unwrap();
    }
    let refusal = fixture.refusal().await;
    let text = refusal.to_string();
    let AssembleError::SeveralComplete { names } = refusal else { panic!("{text}") };
    assert_eq!(names, ["a", "b", "c"]);
    assert!(text.contains(r#""a", "b", "c""#), "{text}");
    assert!(log.take().is_empty());
}

// spec: system-prompt/S21
#[tokio::test]
async fn only_what_a_scope_sees_counts_as_complete() {
    let fixture = Fixture::new().await;
    let (agent, plain, two) =
        (fixture.app.scope().unwrap(), fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    let section = |ctx, section| fixture.prompt().section(ctx, section).unwrap();
    section(&fixture.app, PromptSection::new("persona", 0, "global").complete());
    section(agent.context(), PromptSection::new("persona", 0, "own").complete());
    section(plain.context(), PromptSection::new("persona", 0, "a part"));
    section(two.context(), PromptSection::new("other", 0, "own").complete());
    assert_eq!(pairs(&fixture.assemble().await.sections), [("persona", "global")]);
    assert_eq!(pairs(&fixture.assemble_at(&agent).await.sections), [("persona", "own")]);
    assert_eq!(
        pairs(&fixture.assemble_at(&plain).await.sections),
        [("deployment:persona", ""), ("persona", "a part")]
    );
    let refused = fixture.try_assemble(&AssembleContext::scoped(&two)).await;
    assert!(matches!(refused, Err(AssembleError::SeveralComplete { .. })), "{refused:?}");
}
